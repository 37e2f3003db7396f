#pragma once

#include <cstdint>
#include <vector>

#include "src/metrics/step_metrics.h"

namespace octet {

/// How much higher a run's loss is than another's, smoothed: at each point the mean over a window of steps that both
/// logged, and the standard error of that mean (standard deviation of the window's differences over the root of their
/// number, which takes neighbouring steps for independent). Runs on the same data have the same noise at the same step,
/// so that their difference shows what a single curve hides.
struct LossDifference {
  std::vector<std::int64_t> steps;  ///< the middle ones of the windows
  std::vector<double> means;        ///< nats a token
  std::vector<double> errors;       ///< one standard error
  std::size_t window = 0;           ///< pairs of losses in a window
};

/// Windows of a fortieth of the steps that both runs logged with a finite loss, at least 8 of them, centred, and cut
/// off at the ends; about `points` points at most. No points where fewer than 8 steps are in both.
LossDifference loss_difference(const std::vector<StepMetrics>& run, const std::vector<StepMetrics>& first,
                               std::size_t points);

}  // namespace octet
