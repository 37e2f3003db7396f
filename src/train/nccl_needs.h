#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/comm/mesh.h"
#include "src/comm/nccl_footprint.h"
#include "src/train/config.h"

namespace octet {

/// A communicator of NCCL that a run will make.
struct PlannedCommunicator {
  std::string name;        ///< of the group that it is made for, whose settings it has
  std::vector<int> ranks;  ///< of rank 0's
  NcclTraffic traffic;     ///< of all groups that share it
};

/// All that rank 0 makes in such a run on that mesh, as Mesh and ShardedModel make them.
std::vector<PlannedCommunicator> planned_communicators(const RunConfig& config, const MeshShape& mesh);

/// Bytes of a GPU that NCCL takes for the communicators of such a run on that mesh, with `ranks_on_node` ranks on each
/// node: the upper estimate of src/comm/nccl_footprint.h. 0 where no NCCL is used: on device cpu, or for one rank.
std::int64_t nccl_needs(const RunConfig& config, const MeshShape& mesh, int ranks_on_node);

}  // namespace octet
