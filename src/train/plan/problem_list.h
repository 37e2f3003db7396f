#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "kernels/attention.h"
#include "kernels/gemm.h"
#include "src/comm/mesh.h"
#include "src/run_config/run_config.h"

namespace octet {

/// What one rank's run multiplies, known before its first step: what libraries do in one of several ways. Each kind of
/// problem stands there once, of training steps, be it the first or a later one, and of a validation.
struct ProblemList {
  /// The pointers point nowhere, but are aligned as in the run. GEMMs that are chosen for a part of the GPU are left
  /// out: timed with the whole GPU to themselves, an algorithm that takes all of it would look the fastest.
  std::vector<Gemm> gemms;
  std::vector<AttentionProblem> attention;
  double gemm_flops = 0, attention_flops = 0;  ///< of a training step

  double step_flops() const { return gemm_flops + attention_flops; }
};

/// What a dry run meets (DryRun has the same arguments).
ProblemList problems_of_run(const RunConfig& config, const MeshShape& mesh, int rank, DeviceType workspaces);

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
