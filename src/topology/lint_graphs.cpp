#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "src/base/options/text.h"
#include "src/topology/graph_dump.h"
#include "src/topology/places.h"

namespace octet {
namespace {

constexpr double pcie_gen5_x16_gbs = 48;  // to NCCL, which so uses no more of a card of 400 Gb/s

bool goes_out(const ChannelGraph& graph) {
  return !graph.channels.empty() && !graph.channels[0].nets.empty();
}

/// GB/s that all cards of a node give NCCL, from the node or else the profile; 0: unknown.
double node_gbs(const NodeTopology* topology, const ClusterProfile* expected) {
  double gbs = 0;
  if (topology != nullptr) {
    for (const DevicePlace& nic : Places(*topology).nics) {
      double ports = 0;
      for (const Net& net : *nic.nets) ports += static_cast<double>(net.mbps.value_or(0)) / 8000;
      gbs += nic.device() == nullptr ? ports : std::min(ports, link_gbs(*nic.device()));
    }
  } else if (expected != nullptr && expected->nics.per_node > 0) {
    const double card = std::min(static_cast<double>(expected->nics.gbps) / 8, pcie_gen5_x16_gbs);
    gbs = card * static_cast<double>(expected->nics.per_node);
  }
  return gbs;
}

Finding check_speed(const ChannelGraph& graph, double wanted) {
  const std::string check = fmt::format("graph.{}.speed", graph.id == 0 ? "ring" : "tree");
  const auto count = static_cast<double>(graph.channels.size());
  const double gbs = count * graph.inter_gbs;
  const std::string seen =
      fmt::format("{} channels of {} GB/s to the cards: {:.0f} GB/s a node", count, graph.inter_gbs, gbs);
  if (wanted <= 0) return good(check, seen);
  // NCCL tries certain speeds only (48, 45, 42, 40, 30 ... GB/s): up to a tenth is lost between two of them.
  if (gbs >= 0.9 * wanted) return good(check, seen);
  return {check, FindingState::bad, seen, fmt::format("about {:.0f} GB/s, what the cards give together", wanted),
          "the search found no fast way: look at the topology's findings first (PCIe links, locality)"};
}

Finding check_path(const ChannelGraph& graph) {
  const std::string check = fmt::format("graph.{}.path", graph.id == 0 ? "ring" : "tree");
  if (graph.near_cards()) return good(check, graph.inter_type + " to the cards");
  return {check, FindingState::bad, graph.inter_type + " to the cards", "PIX or PXB",
          "beyond PXB there is no GPUDirect RDMA: every byte takes a copy through host memory"};
}

Finding check_nvlink(const ChannelGraph& graph) {
  if (graph.by_nvlink()) return good("graph.nvlink", graph.intra_type + " between GPUs");
  return {"graph.nvlink", FindingState::bad, graph.intra_type + " between GPUs", "NVL",
          "NVLink is not used: nvidia-smi nvlink -s, the fabric manager, NCCL_P2P_LEVEL and NCCL_P2P_DISABLE"};
}

std::set<std::int64_t> used_cards(const GraphDump& dump) {
  std::set<std::int64_t> used;
  for (const ChannelGraph& graph : dump.graphs) {
    if (graph.id > 1) continue;
    for (const GraphChannel& c : graph.channels) used.insert(c.nets.begin(), c.nets.end());
  }
  return used;
}

Finding check_cards(const GraphDump& dump, const NodeTopology* topology, const ClusterProfile* expected) {
  const auto used = static_cast<std::int64_t>(used_cards(dump).size());
  std::int64_t wanted = expected == nullptr ? 0 : expected->nics.per_node;
  if (topology != nullptr) {
    wanted = 0;
    for (const DevicePlace& nic : Places(*topology).nics) {
      wanted += std::ranges::count_if(*nic.nets, [](const Net& net) { return net.dev.has_value(); });
    }
  }
  const std::string seen = fmt::format("{} cards carry rings or trees", used);
  if (used >= wanted) return good("graph.cards", seen);
  return {"graph.cards", FindingState::bad, seen, fmt::format("{}", wanted),
          "NCCL_IB_HCA leaves some out, or NCCL sees them too far from any GPU"};
}

bool crosses(const GraphChannel& channel) {
  return channel.nets.size() == 2 && channel.nets[0] != channel.nets[1];
}

/// Rings 2k and 2k + 1 have the same cards, the one the other way round. NCCL then exchanges them on every other node
/// ("Alternate rings to avoid crossing rails", src/graph/connect.cc since 2.21.5), so that what leaves by a card comes
/// in by the same card of the next node.
bool alternate(const ChannelGraph& ring) {
  if (ring.cross_nic != 2 || ring.channels.size() % 2 != 0) return false;
  for (std::size_t c = 0; c < ring.channels.size(); c += 2) {
    const auto& one = ring.channels[c].nets;
    const auto& other = ring.channels[c + 1].nets;
    if (!std::equal(one.begin(), one.end(), other.rbegin(), other.rend())) return false;
  }
  return true;
}

Finding check_crossing(const ChannelGraph& ring, const ClusterProfile* expected) {
  const bool rails = expected != nullptr && expected->network.rails;
  if (!std::ranges::any_of(ring.channels, crosses)) {
    return good("graph.crossing", "each ring leaves by the card it comes in by");
  }
  if (alternate(ring)) {
    return good("graph.crossing",
                "rings leave by another card than they come in by, in pairs that NCCL exchanges on "
                "every other node: each link stays in its rail");
  }
  if (!rails) return good("graph.crossing", "rings leave by another card than they come in by");
  return {
      "graph.crossing", FindingState::warning, "rings leave by another card than they come in by, and not in pairs",
      "one card a ring, or pairs of rings (NCCL_CROSS_NIC=2, the default): the network has a leaf a rail",
      "is NCCL_CROSS_NIC=1 set? Leave it at 2; with 0 each ring keeps to its rail, where it may find less bandwidth"};
}

/// Channels whose first or last GPU has a nearer card than the one it uses.
Finding check_nearest(const GraphDump& dump, const NodeTopology& topology) {
  const Places places(topology);
  std::map<std::int64_t, const DevicePlace*> gpus, nics;
  for (const DevicePlace& gpu : places.gpus) {
    if (gpu.device()->gpu && gpu.device()->gpu->dev) gpus[*gpu.device()->gpu->dev] = &gpu;
  }
  for (const DevicePlace& nic : places.nics) {
    for (const Net& net : *nic.nets) {
      if (net.dev) nics[*net.dev] = &nic;
    }
  }
  std::vector<std::string> far, unknown;
  const auto judge = [&](const std::string& where, std::int64_t gpu, std::int64_t net) {
    if (!gpus.contains(gpu) || !nics.contains(net)) {
      unknown.push_back(fmt::format("{}: GPU {} or net {}", where, gpu, net));
      return;
    }
    PathType best = PathType::sys;
    for (const DevicePlace& nic : places.nics) best = std::min(best, path_type(*gpus[gpu], nic));
    const PathType type = path_type(*gpus[gpu], *nics[net]);
    if (type > best && type > PathType::pxb) {
      far.push_back(fmt::format("{}: GPU {} and net {} {}", where, gpu, net, name_of(type)));
    }
  };
  for (const ChannelGraph& graph : dump.graphs) {
    if (graph.id > 1) continue;
    for (std::size_t c = 0; c < graph.channels.size(); ++c) {
      const GraphChannel& channel = graph.channels[c];
      if (channel.nets.empty()) continue;
      const std::string where = fmt::format("{} {}", graph.name(), c);
      judge(where, channel.gpus.front(), channel.nets.front());
      if (graph.id == 0 && graph.inter_type != "PXN") judge(where, channel.gpus.back(), channel.nets.back());
    }
  }
  if (!unknown.empty()) {
    return {"graph.nearest", FindingState::warning, joined(unknown, "; "), "devices of the topology",
            "graphs and topology are of two nodes or two runs"};
  }
  if (far.empty()) return good("graph.nearest", "no channel passes by a nearer card");
  return {"graph.nearest", FindingState::bad, joined(far, "; "), "the card below the GPU's own PCIe switch",
          "look at the topology's findings; NCCL_IB_HCA may hide the nearest card"};
}

Finding check_nvls(const GraphDump& dump, bool hopper) {
  const ChannelGraph* nvls = dump.find(3);
  if (nvls != nullptr && !nvls->channels.empty()) {
    return good("graph.nvls", fmt::format("{} channels", nvls->channels.size()));
  }
  if (!hopper) return {"graph.nvls", FindingState::absent, "no graph of NVLS", "", ""};
  return {"graph.nvls", FindingState::warning, "no graph of NVLS", "one, on GPUs of this kind with NVSwitches",
          "the fabric manager or the driver does not offer multicast, or NCCL_NVLS_ENABLE=0: collectives inside "
          "the node are slower"};
}

bool is_hopper(const NodeTopology* topology, const ClusterProfile* expected) {
  if (topology != nullptr) {
    return std::ranges::any_of(Places(*topology).gpus,
                               [](const DevicePlace& gpu) { return compute_capability(*gpu.device()) >= 90; });
  }
  return expected != nullptr && expected->gpus.type.find("H100") != std::string::npos;
}

}  // namespace

Findings lint_graphs(const GraphDump& dump, const NodeTopology* topology, const ClusterProfile* expected) {
  Findings findings;
  const double wanted = node_gbs(topology, expected);
  bool any = false;
  for (const std::int64_t id : {0, 1}) {
    const ChannelGraph* graph = dump.find(id);
    if (graph == nullptr || graph->channels.empty()) {
      findings.push_back({fmt::format("graph.{}", id == 0 ? "ring" : "tree"), FindingState::bad, "no channel", "some",
                          "the search failed: NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=GRAPH says where"});
      continue;
    }
    if (id == 0) findings.push_back(check_nvlink(*graph));
    if (!goes_out(*graph)) continue;
    any = true;
    findings.push_back(check_speed(*graph, wanted));
    findings.push_back(check_path(*graph));
    if (id == 0) findings.push_back(check_crossing(*graph, expected));
  }
  findings.push_back(check_nvls(dump, is_hopper(topology, expected)));
  if (!any) return findings;
  findings.push_back(check_cards(dump, topology, expected));
  if (topology != nullptr) findings.push_back(check_nearest(dump, *topology));
  return findings;
}

}  // namespace octet
