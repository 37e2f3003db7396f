#pragma once

#include <cstdint>

#include "src/cluster/profile.h"

namespace octet {

/// The switches above nodes 0 to nodes-1 of a cluster, which fill leaf groups and pods in their order. Rates are Gb/s
/// one way.
struct NetworkShape {
  std::int64_t nodes = 0;
  std::int64_t leaf_nodes = 0;      ///< nodes of a leaf group: those on the same leaves. All nodes where unknown
  std::int64_t leaf_groups = 0;     ///< the last may be filled in part
  std::int64_t leaves_a_group = 0;  ///< with rails one a card of a node, else 1
  std::int64_t cards_a_leaf = 0;    ///< of one node
  double leaf_down_gbps = 0;        ///< of one leaf with all its nodes
  double leaf_up_gbps = 0;
  std::int64_t pod_nodes = 0;  ///< all nodes where there are no pods
  std::int64_t pods = 0;
  double pod_up_gbps = 0;  ///< of a pod with all its nodes to the other pods

  std::int64_t leaf_group_of(std::int64_t node) const { return node / leaf_nodes; }
  std::int64_t pod_of(std::int64_t node) const { return node / pod_nodes; }
};

/// The network of a profile with cards (nics.per_node > 0). Usage error where it has none or `nodes` < 1.
NetworkShape network_shape(const ClusterProfile& profile, std::int64_t nodes);

}  // namespace octet
