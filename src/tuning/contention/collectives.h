#pragma once

#include <vector>

#include "src/tuning/contention/flow_network.h"
#include "src/tuning/contention/traffic.h"
#include "src/tuning/contention/workload.h"

namespace octet {

/// The traffic of a workload on nodes in rank order, a rank a GPU, ranks node by node.
///
/// A group has a ring, or a pair of trees, for each card that its GPUs are near to on every node; where a node has lost
/// cards there are fewer on all nodes, as NCCL takes the least number of channels of any rank (NVIDIA/nccl v2.28.9-1,
/// src/init.cc, initTransportsRank). A group without a card of its own on a node uses one of another group there. A
/// ring enters and leaves a node by the same card and passes its GPUs by NVLink: of these the rate, which its rings
/// share, and the latency are counted, not every hop. Ring: n-1 blocks of bytes/n over each hop (all_reduce: twice as
/// many), each sent on as soon as it has come. Trees: two a card, each with half, where inner nodes of one are leaves
/// of the other (P. Sanders, J. Speck, J. L. Traeff, "Two-tree algorithms for full bandwidth broadcast, reduction and
/// scan", 2009), in chunks, up and down at once. Messages between stages go from the first card that is near to the
/// sending GPU to the first that is near to the receiving one, or over NVLink.
///
/// Throws what check() and groups_of() throw, and a usage error for a node without cards.
Traffic traffic_of(const FlowNetwork& shape, const std::vector<NodePlace>& nodes, const Workload& workload);

}  // namespace octet
