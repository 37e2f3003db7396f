#pragma once

#include <string>
#include <vector>

#include "src/cluster/slurm_topology.h"

namespace octet {

/// The hosts in the order in which ranks are to be placed: leaf by leaf, so that a ring over consecutive nodes crosses
/// to another leaf once a leaf and not at every node. Leaves in the topology's order; within a leaf, and for hosts that
/// no leaf has (they come last), in the given order. Without a topology that is the order of all.
std::vector<std::string> order_by_leaf(const std::vector<std::string>& hosts, const SlurmTopology& topology);

/// How often a ring over the hosts in this order passes from one leaf to another.
std::size_t leaf_crossings(const std::vector<std::string>& hosts, const SlurmTopology& topology);

}  // namespace octet
