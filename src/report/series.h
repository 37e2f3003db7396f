#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "src/metrics/step_metrics.h"

namespace octet {

/// One line of a plot. NaN is a step whose number was not finite: a gap.
struct Series {
  std::vector<std::int64_t> steps;
  std::vector<double> values;
};

/// A number of a line of metrics.jsonl that is drawn over the steps.
struct Quantity {
  std::string_view plot;  ///< the plot that it stands in
  std::string_view name;  ///< within the plot; "" where the run's name says enough
  bool dashed;            ///< drawn so, beside the plot's main quantity
  /// The value in the plot's unit; nothing where it was not measured at that step.
  std::optional<double> (*value)(const StepMetrics& metrics);
};

/// A plot of one or more quantities.
struct Plot {
  std::string_view id;
  std::string_view title;
  std::string_view unit;
  bool can_be_logarithmic;
  bool only_above_zero;  ///< left out where every value is 0
};

/// The plots in the order of the page.
const std::vector<Plot>& plots();
const std::vector<Quantity>& quantities();

Series series_of(const std::vector<StepMetrics>& metrics, const Quantity& quantity);

/// The series by at most about `points` points (at least 6) that look the same: the first, the last, and of each of
/// equally many neighbours the lowest, the highest and a gap, if there is one. A series that is short enough is
/// returned as it is.
Series thinned(const Series& series, std::size_t points);

}  // namespace octet
