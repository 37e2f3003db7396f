#pragma once

#include <functional>
#include <string>

#include "src/comm/mesh_shape.h"
#include "src/comm/nccl_settings.h"
#include "src/run_config/run_config.h"
#include "src/train/plan/memory_plan.h"

namespace octet {

/// The nodes for which a run is planned, as far as its memory depends on them.
struct PlannedNodes {
  int ranks_on_node = 1;
  NcclVariables nccl{};                               ///< what NCCL reads in the environment of the run's ranks
  std::function<bool(const MemoryPlan&)> gpu_fits{};  ///< whether a rank with that plan fits its GPU
};

/// A run as it would be there.
struct PlannedRun {
  RunConfig config;            ///< nothing of it is left to the plan of its memory
  PipelineMemory memory;       ///< of a rank of each stage; rank 0 stands for all where there is no pipeline
  std::string lacking_here{};  ///< what this machine lacks for the run; empty: nothing

  const MemoryPlan& worst() const { return memory.ranks[memory.worst()]; }
};

/// Plans a run for nodes that are elsewhere, with the kernels of the CPU, which it sets up for that: all dry runs of
/// this process come after it. `config`: its layout is resolved (layout.h), `mesh` is that of the layout.
PlannedRun plan_on(const PlannedNodes& nodes, RunConfig config, const MeshShape& mesh);

}  // namespace octet
