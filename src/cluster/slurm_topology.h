#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace octet {

/// What Slurm knows of the network: groups of hosts that reach each other without leaving their switch or block.
struct SlurmTopology {
  enum class Kind { none, tree, block };
  struct Leaf {
    std::string name;
    std::vector<std::string> hosts;
  };

  Kind kind = Kind::none;
  std::vector<Leaf> leaves;  ///< those below one switch stand next to each other
};

/// Reads what `scontrol show topology` prints: lines SwitchName=... of topology/tree (leaves are those with Nodes and
/// no Switches, in the order in which they are met from the top) or BlockName=... of topology/block, in the order of
/// BlockIndex. Other lines are left out, and a text without any such line is a cluster without topology. Usage error
/// for such a line that cannot be read.
SlurmTopology parse_topology(std::string_view text);

}  // namespace octet
