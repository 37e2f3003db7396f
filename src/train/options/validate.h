#pragma once

#include <cstdint>

#include "src/base/options/schema.h"
#include "src/train/options/run_config.h"

namespace octet {

/// Throws a usage error for values out of range and for combinations that no run could have, whatever its number of
/// ranks. `origins` (Schema::origins) lets messages name file and line.
void validate(const RunConfig& config, const Origins& origins = {});

/// The mesh for that many ranks: dp_shard is resolved, and dp_replicate x dp_shard is `ranks`. Throws a usage error
/// where that is impossible or the global batch does not divide.
ParallelConfig resolve_layout(const RunConfig& config, std::int64_t ranks, const Origins& origins = {});

}  // namespace octet
