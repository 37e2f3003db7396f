#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/cluster/profile.h"
#include "src/cluster/slurm_topology.h"
#include "src/tuning/contention/placement.h"

namespace octet::tune {

/// Which nodes octet tune placement compares, as its options say.
struct NodeChoice {
  int nodes = 0;                   ///< --nodes; 0: those of `lists`
  std::vector<std::string> lists;  ///< --node-list
  std::vector<std::string> lost;   ///< --lost-rails
};

/// The topology of Slurm in this file; nothing for no path. Throws a usage error for a file without leaves.
std::optional<SlurmTopology> read_slurm_topology(const std::string& path);

/// The node sets of a choice, all of one size, their lost cards taken away. `topology`: of the cluster, or null. Throws
/// usage errors that name option and value.
std::vector<NodeSet> chosen_sets(const NodeChoice& choice, const SlurmTopology* topology, const ClusterProfile& profile,
                                 const FlowNetwork& shape);

}  // namespace octet::tune
