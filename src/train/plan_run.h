#pragma once

#include "src/train/config.h"
#include "src/train/memory_plan.h"

namespace octet {

/// The mesh of a resolved layout (validate.h).
MeshShape mesh_shape(const ParallelConfig& parallel);

/// What decides memory and collectives of a rank of the run on that mesh.
PlanInput plan_input(const RunConfig& config, const MeshShape& mesh, int tp_rank,
                     const CommunicationNeeds& communication);

/// The memory of one rank of the run on that mesh, as planned with the kernels of the stream's device.
MemoryPlan plan_run(const RunConfig& config, const MeshShape& mesh, int tp_rank,
                    const CommunicationNeeds& communication, Stream& stream);

}  // namespace octet
