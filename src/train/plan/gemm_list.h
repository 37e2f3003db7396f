#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/gemm.h"
#include "src/comm/mesh.h"
#include "src/train/options/run_config.h"

namespace octet {

/// The GEMMs of one rank's run, known before its first step.
struct GemmList {
  /// Each kind once: of training steps, be it the first or a later one, and of a validation. Pointers lead nowhere, but
  /// are aligned as in the run.
  std::vector<Gemm> distinct;
  double step_flops = 0;  ///< of all GEMMs of a training step
};

/// What a dry run meets (DryRun has the same arguments).
GemmList gemms_of_run(const RunConfig& config, const MeshShape& mesh, int rank, DeviceType workspaces);

/// What timing would take, and what the run still has to do, in the same FLOPs of a rank.
struct TimingCost {
  double timing = 0, left = 0;

  /// The most that a timing may cost of the rest of a run, which it makes shorter by more than that: by 1.7 % of an 8B
  /// step in float8 on an H100 (docs/gpu-results.md).
  static constexpr double most = 0.01;
  bool worthwhile() const { return timing < most * left; }
};

/// `untimed`: the products whose algorithms are still to be timed, of which each of `ranks` takes its share.
TimingCost timing_cost(std::span<const Gemm> untimed, int ranks, double step_flops, std::int64_t steps_left);

}  // namespace octet
