#include "checkpoints/save/save_interval.h"

#include <algorithm>
#include <cmath>

#include "src/base/error.h"

namespace octet::checkpoint {
namespace {

/// Daly's optimum for a cost and a mean time between failures, both in seconds.
double daly(double cost, double between_failures) {
  if (cost >= 2 * between_failures) return between_failures;
  const double ratio = cost / (2 * between_failures);
  return std::sqrt(2 * cost * between_failures) * (1 + std::sqrt(ratio) / 3 + ratio / 9) - cost;
}

}  // namespace

double automatic_seconds(const Interval& interval, const MeasuredCost& cost) {
  if (!(interval.failure_gpu_hours > 0) || interval.devices < 1) {
    throw usage_error("checkpoints", "{} GPU-hours between stops and {} devices, expected positive numbers",
                      interval.failure_gpu_hours, interval.devices);
  }
  const double between_failures = interval.failure_gpu_hours * 3600 / interval.devices;
  const double best = cost.stall_seconds > 0 ? daly(cost.stall_seconds, between_failures) : 0;
  const double bounded = std::clamp(best, shortest_automatic_seconds, longest_automatic_seconds);
  return std::max(bounded, cost.write_seconds);
}

Interval oldest_allowed(const Interval& max_age, const Interval& interval, const MeasuredCost& cost) {
  if (max_age.kind != Interval::Kind::automatic) return max_age;
  Interval twice = interval;
  twice.steps = 2 * interval.steps;
  twice.seconds = 2 * interval.seconds;
  if (interval.kind == Interval::Kind::automatic) {
    twice.kind = Interval::Kind::seconds;
    twice.seconds = 2 * automatic_seconds(interval, cost);
  }
  return twice;
}

bool is_too_old(const Age& age, const Interval& oldest) {
  if (oldest.kind == Interval::Kind::steps) return age.steps >= oldest.steps;
  return oldest.kind == Interval::Kind::seconds && age.seconds >= oldest.seconds;
}

bool is_due(const Interval& interval, const MeasuredCost& cost, const Position& position) {
  if (position.step == position.last_saved || position.step == 0) return false;
  switch (interval.kind) {
    case Interval::Kind::off:
      return false;
    case Interval::Kind::steps:
      return interval.steps > 0 && position.step % interval.steps == 0;
    case Interval::Kind::seconds:
      return position.seconds_since_save >= interval.seconds;
    case Interval::Kind::automatic:
      return position.seconds_since_save >= automatic_seconds(interval, cost);
  }
  return false;
}

}  // namespace octet::checkpoint
