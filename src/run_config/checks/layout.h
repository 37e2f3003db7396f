#pragma once

#include <cstdint>
#include <string>

#include "src/base/options/schema.h"
#include "src/comm/mesh.h"
#include "src/run_config/run_config.h"

namespace octet {

/// The mesh for that many ranks: dp_shard is resolved, and pp x dp_replicate x dp_shard x tp is `ranks`. Throws a usage
/// error where that is impossible, and as check_layout (checks.h).
ParallelConfig resolve_layout(const RunConfig& config, std::int64_t ranks, const Origins& origins = {});

/// The run on that many ranks: its layout resolved, and what NCCL's groups follow from it. Throws the same.
RunConfig laid_out(RunConfig config, std::int64_t ranks, const Origins& origins = {});

/// The mesh of a resolved layout.
MeshShape mesh_shape(const ParallelConfig& parallel);

}  // namespace octet
