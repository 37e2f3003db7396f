#pragma once

#include <cstdint>
#include <string>

#include "src/train/options/run_config.h"

namespace octet {

/// Why the pass of a micro-batch, on a mesh of so many shards and tensor-parallel ranks, cannot be a CUDA graph
/// whatever its size; empty where it can.
std::string obstacle_to_graphs(const RunConfig& config, std::int64_t shards, std::int64_t tp);

}  // namespace octet
