#pragma once

#include <unordered_map>
#include <vector>

#include "src/tuning/contention/flow_network.h"
#include "src/tuning/contention/traffic.h"

namespace octet {

/// The links between the nodes of a job, made as they are asked for. A leaf's ways up are one link of their summed
/// rate, and so are a pod's: packets are taken to spread evenly over them.
class FlowLinks {
 public:
  /// The links of `nodes`, whose indices the functions take.
  FlowLinks(const FlowNetwork& shape, const std::vector<NodePlace>& nodes) : shape_(shape), nodes_(nodes) {}

  /// Links from a card to a card of another node: up to where leaf or pod are the same, and down.
  std::vector<int> route(int from, int from_card, int to, int to_card);
  /// What the GPU sends over NVLink.
  int nvlink(int node, int gpu);

  const std::vector<Link>& links() const { return links_; }

 private:
  int link(const std::string& name, double gbs);
  const NodePlace& node(int index) const { return nodes_[static_cast<std::size_t>(index)]; }
  std::string leaf_name(const NodePlace& place, int card) const;

  const FlowNetwork& shape_;
  const std::vector<NodePlace>& nodes_;
  std::vector<Link> links_;
  std::unordered_map<std::string, int> by_name_;
};

}  // namespace octet
