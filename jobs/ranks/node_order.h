#pragma once

#include <string>
#include <vector>

#include "src/comm/communicator.h"

namespace octet {

/// Where ranks of one node do not follow each other: "rank 2 is on a as rank 0 is, rank 1 on b"; empty where those of
/// each node do. `nodes`: the name of every rank's node.
std::string scattered_ranks(const std::vector<std::string>& nodes);

/// Rank 0 warns where ranks of one node do not follow each other, as where a launcher deals them out to the nodes in
/// turn. Neighbours are taken for ranks of one node by tensor parallelism (src/comm/mesh_shape.h) and by the plan of
/// NCCL's memory (nccl_needs in src/train/plan/memory_plan.h). `node`: of this rank. Collective over all ranks.
void warn_of_scattered_ranks(const std::string& node, Communicator& control);

}  // namespace octet
