#include "src/tuning/contention/placement.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <set>
#include <unordered_map>

#include "src/base/error.h"
#include "src/cluster/slurm_topology.h"

namespace octet {
namespace {

std::vector<std::string> hosts_of(const std::vector<NodePlace>& nodes) {
  std::vector<std::string> hosts;
  hosts.reserve(nodes.size());
  for (const NodePlace& node : nodes) hosts.push_back(node.host);
  return hosts;
}

/// The leaves of these nodes, pod by pod.
SlurmTopology leaves_of(const std::vector<NodePlace>& nodes) {
  std::map<std::pair<int, int>, std::vector<std::string>> leaves;
  for (const NodePlace& node : nodes) leaves[{node.pod, node.leaf}].push_back(node.host);
  SlurmTopology topology;
  for (auto& [key, hosts] : leaves) topology.leaves.push_back({fmt::format("leaf {}", key.second), std::move(hosts)});
  return topology;
}

std::vector<NodePlace> in_order_of(const std::vector<NodePlace>& nodes, const std::vector<std::string>& hosts) {
  std::unordered_map<std::string, const NodePlace*> by_host;
  for (const NodePlace& node : nodes) by_host[node.host] = &node;
  std::vector<NodePlace> out;
  out.reserve(hosts.size());
  for (const std::string& host : hosts) out.push_back(*by_host.at(host));
  return out;
}

// std::shuffle differs from library to library.
void shuffle(std::vector<NodePlace>& nodes, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (std::size_t i = nodes.size(); i > 1; --i) std::swap(nodes[i - 1], nodes[random() % i]);
}

std::vector<NodePlace> ordered(std::vector<NodePlace> nodes, RankOrder order, std::uint64_t seed) {
  if (order == RankOrder::random) shuffle(nodes, seed);
  if (order == RankOrder::topology) return in_order_of(nodes, order_by_leaf(hosts_of(nodes), leaves_of(nodes)));
  return nodes;
}

/// The text with its numbers at one width: n2 stands before n10.
std::string natural_key(const std::string& host) {
  std::string key, digits;
  const auto flush = [&] {
    if (!digits.empty()) key += std::string(digits.size() < 12 ? 12 - digits.size() : 0, '0') + digits;
    digits.clear();
  };
  for (const char c : host) {
    if (c >= '0' && c <= '9') {
      digits += c;
      continue;
    }
    flush();
    key += c;
  }
  flush();
  return key;
}

/// One node of each leaf, a second of each, and so on, given back in the cluster's order.
std::vector<NodePlace> spread_over(const std::vector<NodePlace>& cluster, std::size_t count) {
  std::map<std::pair<int, int>, std::vector<std::size_t>> leaves;
  for (std::size_t i = 0; i < cluster.size(); ++i) leaves[{cluster[i].pod, cluster[i].leaf}].push_back(i);
  std::set<std::size_t> taken;
  for (std::size_t turn = 0; taken.size() < count; ++turn) {
    for (const auto& [leaf, members] : leaves) {
      if (turn < members.size() && taken.size() < count) taken.insert(members[turn]);
    }
  }
  std::vector<NodePlace> out;
  out.reserve(taken.size());
  for (const std::size_t i : taken) out.push_back(cluster[i]);
  return out;
}

}  // namespace

RankOrder parse_rank_order(std::string_view text) {
  if (const auto found = value_named<RankOrder>(text)) return *found;
  throw usage_error("tuning", "unknown order \"{}\"; expected {}", text, fmt::join(names_of(RankOrder{}), ", "));
}

std::vector<NodeSet> node_sets(const std::vector<NodePlace>& cluster, int count) {
  const auto wanted = static_cast<std::ptrdiff_t>(count);
  const auto there = static_cast<std::ptrdiff_t>(cluster.size());
  if (wanted < 1 || wanted > there) {
    throw usage_error("tuning", "a job of {} nodes on a cluster of {}; expected 1 to {}", count, there, there);
  }
  std::vector<NodePlace> split(cluster.begin(), cluster.begin() + (wanted + 1) / 2);
  split.insert(split.end(), cluster.end() - wanted / 2, cluster.end());
  std::vector<NodeSet> sets{{"packed", {cluster.begin(), cluster.begin() + wanted}},
                            {"split", std::move(split)},
                            {"spread", spread_over(cluster, static_cast<std::size_t>(count))}};
  std::vector<NodeSet> out;
  for (NodeSet& set : sets) {
    std::ranges::stable_sort(set.nodes, {}, [](const NodePlace& node) { return natural_key(node.host); });
    const bool is_new = std::ranges::none_of(out, [&](const NodeSet& s) { return s.nodes == set.nodes; });
    if (is_new) out.push_back(std::move(set));
  }
  return out;
}

std::vector<Placement> placements(const std::vector<NodeSet>& sets, const std::vector<RankOrder>& orders,
                                  std::uint64_t seed) {
  std::vector<Placement> out;
  for (const NodeSet& set : sets) {
    for (const RankOrder order : orders) {
      Placement placement{set.name, std::string(name_of(order)), ordered(set.nodes, order, seed)};
      const auto same = std::ranges::find_if(
          out, [&](const Placement& p) { return p.name == set.name && p.nodes == placement.nodes; });
      if (same == out.end()) {
        out.push_back(std::move(placement));
      } else {
        same->order += ", " + placement.order;
      }
    }
  }
  return out;
}

PlacementCost cost_of(const FlowNetwork& shape, const Placement& placement, const Workload& workload,
                      const SimulateOptions& options) {
  const Traffic traffic = traffic_of(shape, placement.nodes, workload);
  const SlurmTopology leaves = leaves_of(placement.nodes);
  PlacementCost cost;
  cost.simulation = simulate(traffic, options);
  const int ranks = static_cast<int>(placement.nodes.size()) * shape.gpus;
  const auto members = static_cast<int>(groups_of(workload.dimension, workload.mesh, ranks).front().size());
  const double factor = workload.collective ? bus_factor(*workload.collective, members) : 1;
  cost.bus_gbs = static_cast<double>(workload.bytes) * factor / cost.simulation.us / 1e3;
  cost.leaves = static_cast<int>(leaves.leaves.size());
  cost.crossings = leaf_crossings(hosts_of(placement.nodes), leaves);
  const LinkLoad load = link_loads(traffic).front();
  cost.link = traffic.links[static_cast<std::size_t>(load.link)];
  cost.link_busy_us = load.busy_us;
  const auto host = [&](int node) { return placement.nodes[static_cast<std::size_t>(node)].host; };
  for (const int lane : load.lanes) {
    const Lane& flow = traffic.lanes[static_cast<std::size_t>(lane)];
    cost.flows.emplace_back(host(flow.from), host(flow.to));
  }
  return cost;
}

}  // namespace octet
