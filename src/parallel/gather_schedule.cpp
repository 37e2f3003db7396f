#include "src/parallel/gather_schedule.h"

#include <algorithm>
#include <map>

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
  if (!reshard_) return true;
  const auto from = order_.begin() + static_cast<std::ptrdiff_t>(std::min(position_, order_.size()));
  const auto to = order_.begin() + static_cast<std::ptrdiff_t>(std::min(position_ + 3, order_.size()));
  return std::find(from, to, unit) != to;
}

std::int64_t peak_gathered_bytes(std::span<const int> order, std::span<const std::int64_t> unit_bytes, bool reshard,
                                 bool kept) {
  GatherSchedule schedule(reshard);
  schedule.begin(order);
  std::vector<bool> alive(unit_bytes.size(), false);
  std::int64_t now = 0, peak = 0;
  std::map<std::int64_t, std::int64_t> in_use, most;  // buffers of a size
  const auto gather = [&](int unit) {
    if (unit < 0 || alive[static_cast<std::size_t>(unit)]) return;
    alive[static_cast<std::size_t>(unit)] = true;
    now += unit_bytes[static_cast<std::size_t>(unit)];
    peak = std::max(peak, now);
    const std::int64_t size = unit_bytes[static_cast<std::size_t>(unit)];
    most[size] = std::max(most[size], ++in_use[size]);
  };
  for (const int unit : order) {
    schedule.advance(unit);
    gather(unit);
    gather(schedule.next());
    if (!schedule.keep(unit)) {
      alive[static_cast<std::size_t>(unit)] = false;
      now -= unit_bytes[static_cast<std::size_t>(unit)];
      --in_use[unit_bytes[static_cast<std::size_t>(unit)]];
    }
  }
  if (!kept) return peak;
  std::int64_t all = 0;
  for (const auto& [size, count] : most) all += size * count;
  return all;
}

}  // namespace octet
