#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace octet {

/// What Slurm knows of the network: groups of hosts that reach each other without leaving their switch or block.
struct SlurmTopology {
  struct Leaf {
    std::string name;
    std::vector<std::string> hosts;
  };

  std::vector<Leaf> leaves;  ///< those below one switch stand next to each other
};

/// Reads what `scontrol show topology` prints: lines SwitchName=... of topology/tree (leaves are those with Nodes and
/// no Switches, in the order in which they are met from the top) or BlockName=... of topology/block, in the order of
/// BlockIndex. Other lines are left out, and a text without any such line is a cluster without topology. Usage error
/// for such a line that cannot be read.
SlurmTopology parse_topology(std::string_view text);

/// The hosts in the order in which ranks are to be placed: leaf by leaf, so that a ring over consecutive nodes crosses
/// to another leaf once a leaf and not at every node. Leaves in the topology's order; within a leaf, and for hosts that
/// no leaf has (they come last), in the given order. Without a topology that is the order of all.
std::vector<std::string> order_by_leaf(const std::vector<std::string>& hosts, const SlurmTopology& topology);

/// How often a ring over the hosts in this order passes from one leaf to another.
std::size_t leaf_crossings(const std::vector<std::string>& hosts, const SlurmTopology& topology);

}  // namespace octet
