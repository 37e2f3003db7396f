#include "src/tuning/contention/flow_network.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/base/error.h"
#include "src/base/options/text.h"
#include "src/cluster/profile.h"
#include "src/cluster/slurm_topology.h"
#include "src/tuning/cost_model/nccl_machine.h"

namespace octet {
namespace {

/// Of a leaf, or where leaves are not known, of the node with this number.
int pod_of(const FlowNetwork& shape, int leaf, int number) {
  if (shape.pod_nodes == 0) return 0;
  return shape.leaf_nodes == 0 ? number / shape.pod_nodes : leaf / std::max(1, shape.pod_nodes / shape.leaf_nodes);
}

/// A pod whose leaves are not known is one leaf.
NodePlace place_of(const FlowNetwork& shape, std::string host, int number) {
  const int leaf = shape.leaf_nodes > 0 ? number / shape.leaf_nodes : pod_of(shape, 0, number);
  return {.host = std::move(host), .leaf = leaf, .pod = pod_of(shape, leaf, number)};
}

/// The last digits of a name.
int number_of(const std::string& host) {
  const std::size_t end = host.find_last_of("0123456789");
  const std::size_t before = end == std::string::npos ? end : host.find_last_not_of("0123456789", end);
  const std::size_t begin = before == std::string::npos ? 0 : before + 1;
  std::string digits = end == std::string::npos ? "" : host.substr(begin, end + 1 - begin);
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size() - (digits.empty() ? 0 : 1)));
  std::int64_t number = 0;
  if (!parse(digits, number) || number > (1 << 24)) {
    throw usage_error("tuning",
                      "host {}: found no number in its name, by which to tell its leaf; name the leaves with "
                      "--topology FILE",
                      host);
  }
  return static_cast<int>(number);
}

}  // namespace

FlowNetwork shape_of(const ClusterProfile& profile) {
  if (profile.nics.per_node == 0 || profile.nics.gbps == 0) {
    throw usage_error("tuning", "cluster {} has no network cards (nics.per_node {}, nics.gbps {}), expected a fabric",
                      profile.name, profile.nics.per_node, profile.nics.gbps);
  }
  const NcclMachine machine = machine_of(profile);
  const NetworkProfile& network = profile.network;
  FlowNetwork shape;
  shape.gpus = machine.gpus;
  shape.cards = machine.nics;
  shape.rails = network.rails;
  shape.nvlink_gbs = machine.nvlink_gbs;
  shape.card_gbs = machine.nic_gbs;
  shape.wire_gbs = static_cast<double>(profile.nics.per_node * profile.nics.gbps) / 8 / machine.nics;
  shape.leaf_nodes = static_cast<int>(network.leaf_nodes);
  shape.oversubscription = network.oversubscription;
  shape.pod_nodes = static_cast<int>(network.pod_nodes);
  shape.pod_oversubscription = network.pod_oversubscription;
  shape.latency_us = network.latency_us;
  return shape;
}

FlowNetwork uncontended(FlowNetwork shape) {
  shape.leaf_nodes = shape.pod_nodes = 0;
  shape.oversubscription = shape.pod_oversubscription = 1;
  return shape;
}

std::vector<NodePlace> uncontended(std::vector<NodePlace> nodes) {
  for (NodePlace& node : nodes) node = {.host = std::move(node.host)};
  return nodes;
}

std::vector<NodePlace> numbered_nodes(const FlowNetwork& shape, int count) {
  std::vector<NodePlace> out;
  out.reserve(static_cast<std::size_t>(std::max(0, count)));
  for (int i = 0; i < count; ++i) out.push_back(place_of(shape, fmt::format("n{}", i + 1), i));
  return out;
}

std::vector<NodePlace> nodes_of(const FlowNetwork& shape, const SlurmTopology& topology) {
  std::vector<NodePlace> out;
  int leaf = -1;
  for (const SlurmTopology::Leaf& named : topology.leaves) {
    for (std::size_t i = 0; i < named.hosts.size(); ++i) {
      const bool next_leaf = i == 0 || (shape.leaf_nodes > 0 && i % static_cast<std::size_t>(shape.leaf_nodes) == 0);
      leaf += next_leaf ? 1 : 0;
      out.push_back({.host = named.hosts[i], .leaf = leaf, .pod = pod_of(shape, leaf, static_cast<int>(out.size()))});
    }
  }
  return out;
}

std::vector<NodePlace> nodes_by_number(const FlowNetwork& shape, const std::vector<std::string>& hosts) {
  std::vector<int> numbers;
  numbers.reserve(hosts.size());
  for (const std::string& host : hosts) numbers.push_back(number_of(host));
  const int first = std::ranges::find(numbers, 0) == numbers.end() ? 1 : 0;
  std::vector<NodePlace> out;
  for (std::size_t i = 0; i < hosts.size(); ++i) out.push_back(place_of(shape, hosts[i], numbers[i] - first));
  return out;
}

}  // namespace octet
