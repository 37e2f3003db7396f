#include "src/tuning/contention/traffic.h"

#include <algorithm>

namespace octet {

int steps_of_longest(const Traffic& traffic) {
  int steps = 0;
  for (const Lane& lane : traffic.lanes) steps = std::max(steps, lane.steps);
  return steps;
}

std::vector<LinkLoad> link_loads(const Traffic& traffic) {
  std::vector<LinkLoad> loads(traffic.links.size());
  for (std::size_t i = 0; i < loads.size(); ++i) loads[i].link = static_cast<int>(i);
  for (std::size_t i = 0; i < traffic.lanes.size(); ++i) {
    const Lane& lane = traffic.lanes[i];
    for (const int link : lane.path) {
      LinkLoad& load = loads.at(static_cast<std::size_t>(link));
      load.busy_us += lane.bytes * lane.steps / (traffic.links[static_cast<std::size_t>(link)].gbs * 1e3);
      load.lanes.push_back(static_cast<int>(i));
    }
  }
  // Sums of the same numbers in another order differ in their last bits.
  const auto before = [](const LinkLoad& a, const LinkLoad& b) {
    const double rounding = 1e-9 * std::max(a.busy_us, b.busy_us);
    if (a.busy_us > b.busy_us + rounding) return true;
    if (b.busy_us > a.busy_us + rounding) return false;
    return a.lanes.size() > b.lanes.size();
  };
  std::ranges::stable_sort(loads, before);
  return loads;
}

}  // namespace octet
