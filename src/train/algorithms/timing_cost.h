#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace octet {

/// What timing would take, and what the run still has to do, in the same FLOPs of a rank.
struct TimingCost {
  double timing = 0, left = 0;

  /// The most that timing all GEMMs may cost of the rest of a run, and the most that timing attention may: what they
  /// may make it shorter by. Single GEMMs of an H100 are up to 1.16 times as fast (docs/gpu-results.md).
  static constexpr double most = 0.01;
  bool worthwhile() const { return timing < most * left; }
};

/// `untimed`: the FLOPs of each problem that is still to be timed. Each of `ranks` takes its share of the problems; a
/// problem costs all its trials and `building`, the FLOPs that the GPU could have done while the problem's plans are
/// built. The rank with the most to do decides.
TimingCost timing_cost(const std::vector<double>& untimed, double building, int ranks, double step_flops,
                       std::int64_t steps_left);

/// `building` of an attention problem. `device`: the GPU's name; one whose data sheet is not known counts as an H100.
double attention_building_flops(std::string_view device);

}  // namespace octet
