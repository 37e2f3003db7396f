#pragma once

#include <string>

#include "src/comm/mesh.h"
#include "src/run_config/run_config.h"

namespace octet {

/// What would make a rank of the run need less of its device, as far as the configuration has not done it yet, for
/// messages: "more nodes, parallel.zero 2 or 3, recompute.mode full, parallel.tp 8 or a smaller train.seq_len".
/// `more`: of what more would divide the run further, "nodes" or "ranks". `ranks_on_node`: within which tp stays.
std::string ways_to_less_memory(const RunConfig& config, const MeshShape& mesh, int ranks_on_node,
                                const std::string& more);

}  // namespace octet
