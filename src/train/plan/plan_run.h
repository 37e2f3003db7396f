#pragma once

#include "src/comm/mesh.h"
#include "src/train/options/run_config.h"
#include "src/train/plan/memory_plan.h"

namespace octet {

/// The mesh of a resolved layout (validate.h).
MeshShape mesh_shape(const ParallelConfig& parallel);

/// The memory of that rank of the run on that mesh, with workspaces of the size of that device's kernels: the peaks of
/// a few steps that are run dry (dry_run.h). `ranks_on_node`: for what NCCL takes.
MemoryPlan plan_run(const RunConfig& config, const MeshShape& mesh, int rank, int ranks_on_node, DeviceType workspaces);

}  // namespace octet
