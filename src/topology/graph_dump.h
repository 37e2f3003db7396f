#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/cluster/machine/finding.h"
#include "src/cluster/profile.h"
#include "src/topology/node_topology.h"

namespace octet {

// What NCCL's search made of a node's topology: NCCL_GRAPH_DUMP_FILE (NCCL 2.28.9-1, src/graph/search.cc).

/// The GPUs of a node in the order that a channel passes them, between two cards. One GPU alone in a graph of NVLS.
struct GraphChannel {
  std::vector<std::int64_t> nets;  ///< `dev` of the cards: in and out; empty on one node
  std::vector<std::int64_t> gpus;  ///< `dev`
};

struct ChannelGraph {
  std::int64_t id = 0;  ///< 0 ring, 1 tree, 2 collnet chain, 3 NVLS, 4 collnet direct
  std::int64_t pattern = 0;
  std::int64_t channel_count = 0;  ///< as it says itself
  std::int64_t cross_nic = 0;  ///< of the search: 0 a channel leaves by the card it comes in by, 1 by any, 2 channels
                               ///< 2k and 2k + 1 have the same two cards the other way round
  bool same_channels = false;
  double intra_gbs = 0, inter_gbs = 0;  ///< of a channel, GB/s
  std::optional<double> latency_us;
  std::string intra_type, inter_type;  ///< LOC NVL NVB C2C PIX PXB P2C PXN PHB SYS
  std::vector<GraphChannel> channels;
  int line = 0;

  /// "ring", "tree", "NVLS".
  std::string name() const;
  /// "ring: 8 channels of 48 GB/s over NVL, 48 GB/s over PIX to the cards".
  std::string summary() const;
  bool by_nvlink() const;   ///< from GPU to GPU; also where a channel has one GPU alone
  bool near_cards() const;  ///< near enough for GPUDirect RDMA
};

struct GraphDump {
  std::string source;
  std::vector<ChannelGraph> graphs;

  const ChannelGraph* find(std::int64_t id) const;
};

/// Usage errors name file, line, element and attribute.
GraphDump parse_graphs(const std::string& text, const std::string& source);

/// What is slow in it. `topology`: of the same node, or null; `expected`: the cluster's profile, or null.
Findings lint_graphs(const GraphDump& dump, const NodeTopology* topology, const ClusterProfile* expected);

/// A line a graph and, for rings, a line a channel.
std::string to_text(const GraphDump& dump);
/// One SVG file without anything outside it: a row a channel, with slow ways and what is wrong of `findings` in red.
std::string to_svg(const GraphDump& dump, const Findings& findings);

}  // namespace octet
