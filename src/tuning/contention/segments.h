#pragma once

#include <cstddef>
#include <vector>

#include "src/tuning/contention/flow_network.h"

namespace octet {

/// The part of a group that is on one node.
struct Segment {
  int node = 0;            ///< index in rank order
  std::vector<int> gpus;   ///< of the node, ascending
  std::vector<int> cards;  ///< of the node, that work and are near to these GPUs; never empty
};

/// The group's ranks node by node. Throws a usage error for a node that has lost all its cards.
std::vector<Segment> segments_of(const std::vector<int>& group, const FlowNetwork& shape,
                                 const std::vector<NodePlace>& nodes);

/// Rings, or pairs of trees, of a group: the least number of cards of its segments.
std::size_t channels_of(const std::vector<Segment>& segments);

}  // namespace octet
