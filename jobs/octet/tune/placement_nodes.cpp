#include "jobs/octet/tune/placement_nodes.h"

#include <algorithm>

#include "src/base/error.h"
#include "src/base/files.h"
#include "src/base/options/text.h"
#include "src/cluster/host_list.h"

namespace octet::tune {
namespace {

/// All nodes that the job's may be of. Of a profile without a number of nodes: enough for two pods, or four jobs.
std::vector<NodePlace> cluster_nodes(int nodes, const SlurmTopology* topology, const ClusterProfile& profile,
                                     const FlowNetwork& shape) {
  if (topology != nullptr) return nodes_of(shape, *topology);
  if (profile.nodes.count > 0) return numbered_nodes(shape, static_cast<int>(profile.nodes.count));
  return numbered_nodes(shape, std::max(4 * nodes, 2 * shape.pod_nodes));
}

void refuse_repeated(const std::string& list, std::vector<std::string> hosts) {
  std::ranges::sort(hosts);
  const auto twice = std::ranges::adjacent_find(hosts);
  if (twice != hosts.end()) throw usage_error("octet", "--node-list {}: host {} is there twice", list, *twice);
}

/// The places of the listed hosts.
std::vector<NodePlace> places_of(const std::string& list, const SlurmTopology* topology, const FlowNetwork& shape) {
  const std::vector<std::string> hosts = expand_hosts(list);
  if (hosts.empty()) throw usage_error("octet", "--node-list \"{}\": expected hosts", list);
  refuse_repeated(list, hosts);
  if (topology == nullptr) return nodes_by_number(shape, hosts);
  const std::vector<NodePlace> cluster = nodes_of(shape, *topology);
  std::vector<NodePlace> out;
  for (const std::string& host : hosts) {
    const auto found = std::ranges::find(cluster, host, &NodePlace::host);
    if (found == cluster.end()) throw usage_error("octet", "--node-list {}: host {} is not in --topology", list, host);
    out.push_back(*found);
  }
  return out;
}

std::vector<NodeSet> listed_sets(const std::vector<std::string>& lists, const SlurmTopology* topology,
                                 const FlowNetwork& shape) {
  std::vector<NodeSet> sets;
  for (const std::string& list : lists) {
    sets.push_back({list, places_of(list, topology, shape)});
    const NodeSet& first = sets.front();
    if (sets.back().nodes.size() == first.nodes.size()) continue;
    throw usage_error("octet", "--node-list {} has {} nodes and --node-list {} has {}; expected lists of one length",
                      first.name, first.nodes.size(), list, sets.back().nodes.size());
  }
  return sets;
}

/// "2@n5" takes two cards of n5 away, in every set that has it.
void lose(const std::string& text, std::vector<NodeSet>& sets) {
  const std::size_t at = text.find('@');
  std::int64_t count = 0;
  if (at == std::string::npos || !octet::parse(text.substr(0, at), count) || count < 1 || count > 64) {
    throw usage_error("octet", "--lost-rails {}: expected COUNT@HOST, such as 2@n5", text);
  }
  const std::string host = text.substr(at + 1);
  bool found = false;
  for (NodeSet& set : sets) {
    for (NodePlace& node : set.nodes) {
      if (node.host != host) continue;
      node.lost_cards = static_cast<int>(count);
      found = true;
    }
  }
  if (!found) throw usage_error("octet", "--lost-rails {}: no placement has a node {}", text, host);
}

}  // namespace

std::optional<SlurmTopology> read_slurm_topology(const std::string& path) {
  if (path.empty()) return std::nullopt;
  SlurmTopology topology = parse_topology(given_text("octet", path));
  if (topology.leaves.empty()) {
    throw usage_error("octet", "{}: found no leaf or block, expected what scontrol show topology prints", path);
  }
  return topology;
}

std::vector<NodeSet> chosen_sets(const NodeChoice& choice, const SlurmTopology* topology, const ClusterProfile& profile,
                                 const FlowNetwork& shape) {
  std::vector<NodeSet> sets = choice.nodes > 0
                                  ? node_sets(cluster_nodes(choice.nodes, topology, profile, shape), choice.nodes)
                                  : listed_sets(choice.lists, topology, shape);
  for (const std::string& lost : choice.lost) lose(lost, sets);
  return sets;
}

}  // namespace octet::tune
