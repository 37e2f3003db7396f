#include "src/topology/cluster_parts.h"

#include <fmt/format.h>

#include <algorithm>

namespace octet::parts {

std::vector<std::int64_t> shown(std::int64_t count, std::int64_t most) {
  std::vector<std::int64_t> out;
  for (std::int64_t i = 0; i < count; ++i) {
    if (count <= most || i < most - 2 || i == count - 1) out.push_back(i);
    if (count > most && i == most - 2) out.push_back(gap);
  }
  return out;
}

std::string range(const char* what, std::int64_t from, std::int64_t to) {
  return from + 1 == to ? fmt::format("{} {}", what, from) : fmt::format("{}s {} to {}", what, from, to - 1);
}

std::string rate(double gbps) {
  return gbps < 10000 ? fmt::format("{:.0f} Gb/s", gbps) : fmt::format("{:.1f} Tb/s", gbps / 1000);
}

std::string ratio(double oversubscription) {
  return fmt::format("{:g}:1", oversubscription);
}

Nodes pod_nodes(const NetworkShape& s, std::int64_t pod) {
  return {pod * s.pod_nodes, std::min(s.nodes, (pod + 1) * s.pod_nodes)};
}

Nodes group_nodes(const NetworkShape& s, std::int64_t group) {
  return {group * s.leaf_nodes, std::min(s.nodes, (group + 1) * s.leaf_nodes)};
}

Groups groups_of(const NetworkShape& s, std::int64_t pod) {
  const Nodes nodes = pod_nodes(s, pod);
  const std::int64_t first = s.leaf_group_of(nodes.from);
  return {first, s.leaf_group_of(nodes.to - 1) - first + 1};
}

std::string leaves_text(const NetworkShape& s, std::int64_t group) {
  const std::int64_t from = group * s.leaves_a_group;
  return s.leaves_a_group == 1 ? fmt::format("leaf {}", from)
                               : fmt::format("leaves {} to {}", from, from + s.leaves_a_group - 1);
}

std::string headline(const ClusterProfile& p, const NetworkShape& s) {
  return fmt::format("{}: {} nodes, {} GPUs{}", p.name, s.nodes, s.nodes * p.gpus.per_node,
                     p.gpus.type.empty() ? "" : " " + p.gpus.type);
}

}  // namespace octet::parts
