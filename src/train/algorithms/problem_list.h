#pragma once

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

}  // namespace octet
