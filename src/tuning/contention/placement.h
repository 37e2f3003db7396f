#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/named_enum.h"
#include "src/tuning/contention/collectives.h"
#include "src/tuning/contention/simulate.h"

namespace octet {

/// Order of a job's nodes, and so of its ranks: as they are listed, leaf by leaf (src/cluster/slurm_topology.h), or
/// any.
enum class RankOrder { slurm, topology, random };

constexpr auto names_of(RankOrder) {
  return std::to_array<std::string_view>({"slurm", "topology", "random"});
}
/// Throws a usage error that lists the names.
RankOrder parse_rank_order(std::string_view text);

/// Nodes that a job might get, as Slurm lists them.
struct NodeSet {
  std::string name;
  std::vector<NodePlace> nodes;
};

/// A job's nodes in rank order.
struct Placement {
  std::string name;   ///< of the node set
  std::string order;  ///< "slurm"; several, "slurm, topology", where they come to the same
  std::vector<NodePlace> nodes;
};

/// What a job of `count` nodes may get of a cluster whose nodes are given leaf by leaf: `packed` (the fewest leaves),
/// `split` (half of it at each end of the cluster) and `spread` (over all leaves in turn), without those that equal an
/// earlier one. Slurm lists nodes as its configuration does: taken to be by name, n2 before n10. Throws a usage error
/// for more nodes than there are.
std::vector<NodeSet> node_sets(const std::vector<NodePlace>& cluster, int count);

/// Each set in each order. A random order follows from the seed alone, on every machine.
std::vector<Placement> placements(const std::vector<NodeSet>& sets, const std::vector<RankOrder>& orders,
                                  std::uint64_t seed);

/// What a workload costs on a placement.
struct PlacementCost {
  Simulation simulation;
  double bus_gbs = 0;                                      ///< of a group, as bus_factor() counts, or of a message
  int leaves = 0;                                          ///< on which the nodes are
  std::size_t crossings = 0;                               ///< from leaf to leaf of a ring over all nodes
  Link link;                                               ///< the most loaded one
  double link_busy_us = 0;                                 ///< what it needs for its traffic: the time is never less
  std::vector<std::pair<std::string, std::string>> flows;  ///< on it, host to host
};

/// Throws what traffic_of() and simulate() throw.
PlacementCost cost_of(const FlowNetwork& shape, const Placement& placement, const Workload& workload,
                      const SimulateOptions& options = {});

}  // namespace octet
