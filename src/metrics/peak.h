#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace octet {

/// Dense (not sparse) peak of a device in FLOP/s, by vendor data sheet.
struct PeakFlops {
  double bf16 = 0;
  double fp8 = 0;
};

/// What else such a data sheet says.
struct GpuSheet {
  std::string_view name;  ///< the part of a device's name by which it is known
  PeakFlops peak;
  double fp32 = 0;              ///< FLOP/s without tensor cores
  double memory_gib = 0;        ///< of the device
  double memory_bandwidth = 0;  ///< bytes a second
  double nvlink_bandwidth = 0;  ///< bytes a second that a device can send to others of its node: half of the sheet's
  int compute_capability = 0;   ///< 10 times the major number plus the minor one, as Device has it
};
/// None for a device that is not in the table.
std::optional<GpuSheet> gpu_sheet(std::string_view device_name);
/// "H100 PCIe, H100 NVL, ...", for messages.
std::string known_gpus();

/// None for a device that is not in the table: figures relative to a peak are then "unknown".
std::optional<PeakFlops> peak_flops(std::string_view device_name);

/// Percent of the dense bf16 peak.
std::optional<double> mfu_percent(std::string_view device_name, double flops_per_second);

/// Percent of the peak of this mixture: `float8_share` of the operations at fp8 peak, the rest at bf16 peak.
std::optional<double> mixed_peak_percent(std::string_view device_name, double flops_per_second, double float8_share);

}  // namespace octet
