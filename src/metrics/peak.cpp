#include "src/metrics/peak.h"

#include <array>

namespace octet {
namespace {

struct Row {
  std::string_view part_of_name;
  PeakFlops peak;
};

// NVIDIA's data sheets, dense. More specific names first.
constexpr std::array<Row, 6> table = {{
    {"H100 PCIe", {756e12, 1513e12}},
    {"H100 NVL", {835e12, 1671e12}},
    {"H100", {989e12, 1979e12}},
    {"H200", {989e12, 1979e12}},
    {"B200", {2250e12, 4500e12}},
    {"A100", {312e12, 312e12}},  // no fp8: bf16 speed
}};

}  // namespace

std::optional<PeakFlops> peak_flops(std::string_view device_name) {
  for (const Row& row : table) {
    if (device_name.find(row.part_of_name) != std::string_view::npos) return row.peak;
  }
  return std::nullopt;
}

std::optional<double> mfu_percent(std::string_view device_name, double flops_per_second) {
  const auto peak = peak_flops(device_name);
  if (!peak) return std::nullopt;
  return 100.0 * flops_per_second / peak->bf16;
}

std::optional<double> mixed_peak_percent(std::string_view device_name, double flops_per_second, double float8_share) {
  const auto peak = peak_flops(device_name);
  if (!peak) return std::nullopt;
  const double seconds_per_flop = float8_share / peak->fp8 + (1.0 - float8_share) / peak->bf16;
  return 100.0 * flops_per_second * seconds_per_flop;
}

}  // namespace octet
