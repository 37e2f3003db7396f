#include "src/train/algorithms/timing_cost.h"

#include <algorithm>

#include "kernels/gemm_timing.h"
#include "src/metrics/peak.h"

namespace octet {
namespace {

/// Seconds that cuDNN takes to build those plans of a problem that are timed beside its first one. Assumed, above what
/// the rows of docs/gpu-results/h100-2026-11-26*.jsonl leave for it: to choose took a run of 8B 1.8 s in bf16 and 1.3
/// to 2.5 in float8 where it chose for attention and GEMMs, and 0.9 to 1.2 in bf16 and 0.5 in float8 where it found
/// attention's choices and chose for GEMMs alone. So up to 2 s are those of the two problems of attention, 0.3 of
/// trials included.
constexpr double building_seconds = 1;

}  // namespace

TimingCost timing_cost(const std::vector<double>& untimed, double building, int ranks, double step_flops,
                       std::int64_t steps_left) {
  double sum = 0, largest = 0;
  for (const double flops : untimed) {
    const double all = flops * timed_proposals * (uncounted_runs + timed_runs) + building;
    sum += all;
    largest = std::max(largest, all);
  }
  return {.timing = std::max(sum / ranks, largest), .left = step_flops * static_cast<double>(steps_left)};
}

/// At the bf16 peak, which is above what steps reach, in float8 too.
double attention_building_flops(std::string_view device) {
  const auto sheet = gpu_sheet(device);
  return building_seconds * (sheet ? *sheet : *gpu_sheet("H100")).peak.bf16;
}

}  // namespace octet
