#include "src/topology/graph_dump.h"

#include <algorithm>
#include <set>

#include "src/base/error.h"
#include "src/base/options/text.h"
#include "src/topology/xml_fields.h"

namespace octet {
namespace {

constexpr std::int64_t most_channels = 64;  // MAXCHANNELS of NCCL is 64 since 2.19

GraphChannel read_channel(const XmlFile& file, pugi::xml_node node) {
  GraphChannel channel;
  for (const pugi::xml_node child : node.children()) {
    const std::string_view name = child.name();
    // The upper bits of NCCL's numbers are the machine, of several in one NVLink domain.
    if (name == "net") channel.nets.push_back(file.required_hex(child, "dev"));
    if (name == "gpu") channel.gpus.push_back(file.required_hex(child, "dev"));
  }
  if (channel.gpus.empty()) throw usage_error("topology", "{} has no <gpu>", file.place(node));
  if (!channel.nets.empty() && channel.nets.size() != 2) {
    throw usage_error("topology", "{} has {} <net>, expected 2 or none", file.place(node), channel.nets.size());
  }
  return channel;
}

ChannelGraph read_graph(const XmlFile& file, pugi::xml_node node) {
  ChannelGraph graph{.id = file.required_integer(node, "id"),
                     .pattern = file.required_integer(node, "pattern"),
                     .channel_count = file.required_integer(node, "nchannels"),
                     .cross_nic = file.required_integer(node, "crossnic"),
                     .same_channels = file.required_integer(node, "samechannels") != 0,
                     .intra_gbs = file.required_number(node, "speedintra"),
                     .inter_gbs = file.required_number(node, "speedinter"),
                     .latency_us = file.number(node, "latencyinter"),
                     .intra_type = file.required_text(node, "typeintra"),
                     .inter_type = file.required_text(node, "typeinter"),
                     .channels = {},
                     .line = file.line_of(node)};
  for (const pugi::xml_node channel : node.children("channel")) graph.channels.push_back(read_channel(file, channel));
  if (graph.channel_count < 0 || graph.channel_count > most_channels ||
      graph.channel_count != static_cast<std::int64_t>(graph.channels.size())) {
    throw usage_error("topology", "{} nchannels = {}: expected {}, the channels in it, and at most {}",
                      file.place(node), graph.channel_count, graph.channels.size(), most_channels);
  }
  return graph;
}

std::string chain(const GraphChannel& channel) {
  std::vector<std::string> parts;
  if (!channel.nets.empty()) parts.push_back(fmt::format("net {}", channel.nets[0]));
  std::vector<std::string> gpus;
  for (const std::int64_t gpu : channel.gpus) gpus.push_back(std::to_string(gpu));
  parts.push_back("GPU " + joined(gpus, " "));
  if (!channel.nets.empty()) parts.push_back(fmt::format("net {}", channel.nets[1]));
  return joined(parts, " -> ");
}

}  // namespace

std::string ChannelGraph::name() const {
  constexpr std::string_view names[] = {"ring", "tree", "collnet chain", "NVLS", "collnet direct"};
  return id >= 0 && id < 5 ? std::string(names[id]) : fmt::format("graph {}", id);
}

std::string ChannelGraph::summary() const {
  std::string out = fmt::format("{}: {} channels of {} GB/s over {}", name(), channels.size(), intra_gbs, intra_type);
  const bool inter = !channels.empty() && !channels[0].nets.empty();
  return inter ? out + fmt::format(", {} GB/s over {} to the cards", inter_gbs, inter_type) : out;
}

bool ChannelGraph::by_nvlink() const {
  const bool alone = channels.empty() || channels[0].gpus.size() < 2;
  return alone || intra_type == "NVL" || intra_type == "NVB";
}

bool ChannelGraph::near_cards() const {
  // PXN: by NVLink to the GPU beside the card, as rings close where each card carries its own.
  static const std::set<std::string> near = {"LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN"};
  return near.contains(inter_type);
}

const ChannelGraph* GraphDump::find(std::int64_t id) const {
  const auto found = std::ranges::find(graphs, id, &ChannelGraph::id);
  return found == graphs.end() ? nullptr : &*found;
}

GraphDump parse_graphs(const std::string& text, const std::string& source) {
  const XmlFile file(text, source);
  const pugi::xml_node root = file.root("graphs");
  const std::int64_t version = file.required_integer(root, "version");
  if (version != 1) throw usage_error("topology", "{} version = {}: expected 1", file.place(root), version);
  GraphDump dump{.source = source, .graphs = {}};
  for (const pugi::xml_node graph : root.children("graph")) dump.graphs.push_back(read_graph(file, graph));
  if (dump.graphs.empty()) throw usage_error("topology", "{} has no <graph>", file.place(root));
  return dump;
}

std::string to_text(const GraphDump& dump) {
  std::string out;
  for (const ChannelGraph& g : dump.graphs) {
    out += g.summary() + '\n';
    for (std::size_t c = 0; g.id == 0 && c < g.channels.size(); ++c) {
      out += fmt::format("  {:2}  {}\n", c, chain(g.channels[c]));
    }
  }
  return out;
}

}  // namespace octet
