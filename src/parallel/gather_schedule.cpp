#include "src/parallel/gather_schedule.h"

#include <algorithm>

#include "src/base/error.h"

namespace octet {

void GatherSchedule::advance(int unit) {
  if (position_ >= order_.size() || order_[position_] != unit) {
    throw internal_error("parallel", "unit {} asked for, but the announced order has {} at position {}", unit, next(),
                         position_);
  }
  ++position_;
}

bool GatherSchedule::keep(int unit) const {
  if (!lets_go_) return true;
  const auto from = order_.begin() + static_cast<std::ptrdiff_t>(std::min(position_, order_.size()));
  const auto to = order_.begin() + static_cast<std::ptrdiff_t>(std::min(position_ + 3, order_.size()));
  return std::find(from, to, unit) != to;
}

}  // namespace octet
