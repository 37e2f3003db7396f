#include "src/tuning/contention/simulate.h"

#include <algorithm>
#include <cmath>

#include "src/tuning/contention/engine/engine_process.h"

namespace octet {
namespace {

/// After so many steps everything repeats: the way of a block over a node.
int period_of(const Traffic& traffic) {
  int period = 1;
  for (const Lane& lane : traffic.lanes) {
    for (const Feeder& feeder : lane.feeders) period = std::max(period, feeder.lag);
  }
  return period;
}

std::int64_t blocks_of(const Traffic& traffic) {
  std::int64_t blocks = 0;
  for (const Lane& lane : traffic.lanes) blocks += lane.steps;
  return blocks;
}

/// Steps to simulate: all, or a multiple of the period.
int steps_within(const Traffic& traffic, std::int64_t most_blocks) {
  const int steps = steps_of_longest(traffic);
  if (blocks_of(traffic) <= most_blocks) return steps;
  const std::int64_t period = period_of(traffic);
  const std::int64_t periods = most_blocks / (static_cast<std::int64_t>(traffic.lanes.size()) * period);
  return static_cast<int>(std::min<std::int64_t>(steps, std::max<std::int64_t>(4, periods) * period));
}

Traffic first_steps(Traffic traffic, int steps) {
  for (Lane& lane : traffic.lanes) lane.steps = std::min(lane.steps, steps);
  return traffic;
}

/// When the last step ends, if those after the simulated ones take as long each as the second half of those.
double extrapolated(const std::vector<double>& finish_us, int steps, int period) {
  const auto simulated = static_cast<int>(finish_us.size());
  if (simulated == steps) return finish_us.back();
  const int window = std::max(1, simulated / 2 / period) * period;
  const double last = finish_us.back(), earlier = finish_us[static_cast<std::size_t>(simulated - 1 - window)];
  return last + (steps - simulated) * (last - earlier) / window;
}

}  // namespace

std::int64_t simulated_bytes(const Traffic& traffic, const SimulateOptions& options) {
  const int steps = steps_within(traffic, options.most_blocks);
  double bytes = 0;
  for (const Lane& lane : traffic.lanes) bytes += lane.bytes * std::min(lane.steps, steps);
  return std::llround(bytes);
}

Simulation simulate(const Traffic& traffic, const SimulateOptions& options) {
  Simulation out{.steps = steps_of_longest(traffic)};
  if (out.steps == 0) return out;
  out.simulated_steps = steps_within(traffic, options.most_blocks);
  const Traffic cut = first_steps(traffic, out.simulated_steps);
  out.blocks = blocks_of(cut);
  out.us = extrapolated(run_engine(cut, options.progress), out.steps, period_of(traffic));
  return out;
}

}  // namespace octet
