#include "src/metrics/peak.h"

#include <array>
#include <cctype>

namespace octet {
namespace {

// NVIDIA's data sheets, dense. More specific names first.
constexpr std::array<GpuSheet, 6> table = {{
    {"H100 PCIe", {756e12, 1513e12}, 51e12, 79.6, 2.0e12, 300e9, 90},
    {"H100 NVL", {835e12, 1671e12}, 60e12, 93.6, 3.9e12, 300e9, 90},
    {"H100", {989e12, 1979e12}, 67e12, 79.6, 3.35e12, 450e9, 90},
    {"H200", {989e12, 1979e12}, 67e12, 140.4, 4.8e12, 450e9, 90},
    {"B200", {2250e12, 4500e12}, 75e12, 179.1, 8.0e12, 900e9, 100},
    {"A100", {312e12, 312e12}, 19.5e12, 80.0, 2.039e12, 300e9, 80},  // no fp8: bf16 speed
}};

}  // namespace

/// A GH200 is no H200.
std::optional<GpuSheet> gpu_sheet(std::string_view device_name) {
  for (const GpuSheet& sheet : table) {
    const std::size_t at = device_name.find(sheet.name);
    if (at == std::string_view::npos) continue;
    if (at == 0 || std::isalnum(static_cast<unsigned char>(device_name[at - 1])) == 0) return sheet;
  }
  return std::nullopt;
}

std::string known_gpus() {
  std::string names;
  for (const GpuSheet& sheet : table) names += (names.empty() ? "" : ", ") + std::string(sheet.name);
  return names;
}

std::optional<PeakFlops> peak_flops(std::string_view device_name) {
  const auto sheet = gpu_sheet(device_name);
  if (!sheet) return std::nullopt;
  return sheet->peak;
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
