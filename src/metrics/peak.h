#pragma once

#include <optional>
#include <string_view>

namespace octet {

/// Dense (not sparse) peak of a device in FLOP/s, by vendor data sheet.
struct PeakFlops {
  double bf16 = 0;
  double fp8 = 0;
};

/// None for a device that is not in the table: figures relative to a peak are then "unknown".
std::optional<PeakFlops> peak_flops(std::string_view device_name);

/// Percent of the dense bf16 peak.
std::optional<double> mfu_percent(std::string_view device_name, double flops_per_second);

/// Percent of the peak of this mixture: `float8_share` of the operations at fp8 peak, the rest at bf16 peak.
std::optional<double> mixed_peak_percent(std::string_view device_name, double flops_per_second, double float8_share);

}  // namespace octet
