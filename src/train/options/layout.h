#pragma once

#include <cstdint>
#include <string>

#include "src/base/options/schema.h"
#include "src/comm/mesh.h"
#include "src/train/options/run_config.h"

namespace octet {

/// The mesh for that many ranks: dp_shard is resolved, and pp x dp_replicate x dp_shard x tp is `ranks`. Throws a usage
/// error where that is impossible, and as check_layout (checks.h).
ParallelConfig resolve_layout(const RunConfig& config, std::int64_t ranks, const Origins& origins = {});

/// The run on that many ranks: its layout resolved, and what NCCL's groups follow from it. Throws the same.
RunConfig laid_out(RunConfig config, std::int64_t ranks, const Origins& origins = {});

/// The mesh of a resolved layout.
MeshShape mesh_shape(const ParallelConfig& parallel);

/// Why the pass of a micro-batch, on a mesh of so many shards and tensor-parallel ranks, cannot be a CUDA graph
/// whatever its size; empty where it can.
std::string obstacle_to_graphs(const RunConfig& config, std::int64_t shards, std::int64_t tp);

/// Why the optimizer's update cannot be beside the next forward pass on such a mesh; empty where it can.
std::string obstacle_to_update_beside(const RunConfig& config, std::int64_t shards, std::int64_t tp);

}  // namespace octet
