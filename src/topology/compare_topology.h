#pragma once

#include <string>
#include <vector>

#include "src/cluster/machine/finding.h"
#include "src/topology/node_topology.h"

namespace octet {

/// What two nodes of one kind do not have in common, a line each: devices that one of them lacks, links, NVLinks,
/// cards' rates, what hangs on which CPU. Devices are the same by bus id, or by their order where most bus ids differ
/// (virtual machines). Numbers of ranks, guids and hosts differ always and do not count.
std::vector<std::string> differences(const NodeTopology& a, const NodeTopology& b);

/// One finding, topology.same, with all of them.
Finding compare(const NodeTopology& a, const NodeTopology& b);

}  // namespace octet
