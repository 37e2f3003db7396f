#include "src/cluster/network_shape.h"

#include "src/base/error.h"
#include "src/base/round_up.h"

namespace octet {

NetworkShape network_shape(const ClusterProfile& p, std::int64_t nodes) {
  if (p.nics.per_node < 1) {
    throw usage_error("cluster", "{}: nics.per_node is 0, expected a cluster with cards of a network", p.name);
  }
  if (nodes < 1) throw usage_error("cluster", "{} nodes, expected at least 1", nodes);
  const NetworkProfile& n = p.network;
  NetworkShape s;
  s.nodes = nodes;
  s.leaf_nodes = n.leaf_nodes > 0 ? n.leaf_nodes : nodes;
  s.leaf_groups = ceil_div(nodes, s.leaf_nodes);
  s.leaves_a_group = n.rails ? p.nics.per_node : 1;
  s.cards_a_leaf = p.nics.per_node / s.leaves_a_group;
  s.leaf_down_gbps = static_cast<double>(s.leaf_nodes * s.cards_a_leaf * p.nics.gbps);
  s.leaf_up_gbps = s.leaf_down_gbps / n.oversubscription;
  s.pod_nodes = n.pod_nodes > 0 ? n.pod_nodes : nodes;
  s.pods = ceil_div(nodes, s.pod_nodes);
  const double pod_down_gbps = static_cast<double>(s.pod_nodes * p.nics.per_node * p.nics.gbps);
  s.pod_up_gbps = pod_down_gbps / n.oversubscription / n.pod_oversubscription;
  return s;
}

}  // namespace octet
