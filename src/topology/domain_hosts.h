#pragma once

#include <vector>

#include "src/topology/node_topology.h"

namespace octet {

/// The part of each host, in their order. Where several nodes are one NVLink domain (GB200, GB300), NCCL_TOPO_DUMP_FILE
/// has them all, each with a host_hash and with bus ids and numbers of its own; NCCL_TOPO_FILE takes one of them
/// (NVIDIA/nccl, docs/userguide/source/env.rst). A <cpu> without a host_hash, in a file made by hand, is of the first.
std::vector<NodeTopology> hosts_of(const NodeTopology& topology);
/// Whether it is one of that host's.
bool is_of(const Cpu& cpu, const NodeTopology& host);

}  // namespace octet
