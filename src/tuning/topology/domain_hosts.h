#pragma once

#include <vector>

#include "src/tuning/topology/node_topology.h"

namespace octet {

/// The part of each host, in their order. Where several nodes are one NVLink domain (GB200, GB300), NCCL_TOPO_DUMP_FILE
/// has them all, each with a host_hash and with bus ids and numbers of its own; NCCL_TOPO_FILE takes one of them
/// (NVIDIA/nccl, docs/userguide/source/env.rst).
std::vector<NodeTopology> hosts_of(const NodeTopology& topology);

}  // namespace octet
