#pragma once

#include <cstdint>
#include <string>

#include "src/cluster/profile.h"
#include "src/topology/node_topology.h"

namespace octet {

/// The node as a tree, a line a device, with speeds as NCCL counts them (GB/s one way) and `!!` where a link is sick.
std::string to_text(const NodeTopology& topology);
/// The node as one SVG file without anything outside it: CPUs, PCIe switches, GPUs, cards, NVSwitches; sick links red.
std::string to_svg(const NodeTopology& topology);

/// The network above nodes 0 to nodes-1 as the profile describes it. Usage error for a profile without cards.
std::string cluster_text(const ClusterProfile& profile, std::int64_t nodes);
std::string cluster_svg(const ClusterProfile& profile, std::int64_t nodes);

}  // namespace octet
