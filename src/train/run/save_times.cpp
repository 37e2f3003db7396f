#include "src/train/run/save_times.h"

#include <iterator>

namespace octet {

void SaveTimes::committed(std::int64_t step) {
  const auto taken = under_way_.find(step);
  if (taken == under_way_.end()) return;
  committed_ = {step, taken->second};
  under_way_.erase(under_way_.begin(), std::next(taken));
}

checkpoint::Age SaveTimes::failed(std::int64_t step) {
  if (under_way_.empty()) return age(step);
  const auto first = under_way_.begin();
  const checkpoint::Age then = age(first->first, first->second);
  under_way_.erase(first);
  return then;
}

}  // namespace octet
