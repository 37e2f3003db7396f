#pragma once

#include <cstdint>
#include <string>

#include "src/run_config/run_config.h"

namespace octet {

// What a run cannot have on a mesh of so many shards and tensor-parallel ranks, and why, for messages. What is `auto`
// goes without it then, and a run that asks for it is refused.

/// Why the pass of a micro-batch cannot be a CUDA graph whatever its size; empty where it can.
std::string obstacle_to_graphs(const RunConfig& config, std::int64_t shards, std::int64_t tp);

/// Why the optimizer's update cannot be beside the next forward pass; empty where it can.
std::string obstacle_to_update_beside(const RunConfig& config, std::int64_t shards, std::int64_t tp);

}  // namespace octet
