#include <fmt/format.h>

#include "src/topology/cluster_parts.h"
#include "src/topology/draw.h"

namespace octet {

std::string cluster_text(const ClusterProfile& profile, std::int64_t nodes) {
  using namespace parts;
  const NetworkShape s = network_shape(profile, nodes);
  const NetworkProfile& n = profile.network;
  const auto card = static_cast<double>(profile.nics.gbps);
  std::string out = headline(profile, s) + "\n";
  out += fmt::format("  node   {} GPUs, {} cards of {} Gb/s: {:.0f} Gb/s\n", profile.gpus.per_node,
                     profile.nics.per_node, profile.nics.gbps, card * static_cast<double>(profile.nics.per_node));
  if (n.leaf_nodes == 0) {
    out += fmt::format("  leaf   not known (network.leaf_nodes); {}\n", n.rails ? "a rail a card" : "no rails");
  } else {
    out += fmt::format("  leaf   {} nodes{}; {} down, {} up ({})\n", s.leaf_nodes,
                       n.rails ? fmt::format(" on {} leaves, one a card", s.leaves_a_group) : " with all their cards",
                       rate(s.leaf_down_gbps), rate(s.leaf_up_gbps), ratio(n.oversubscription));
  }
  if (n.pod_nodes > 0) out += fmt::format("  pod    {} nodes", n.pod_nodes);
  if (s.pods > 1) {
    out +=
        fmt::format("; {} to other pods ({})", rate(s.pod_up_gbps), ratio(n.oversubscription * n.pod_oversubscription));
  }
  if (n.pod_nodes > 0) out += '\n';
  out += fmt::format("  a card, while all send: {:.0f} Gb/s below its leaf, {:.0f} between leaves", card,
                     card / n.oversubscription);
  if (s.pods > 1) out += fmt::format(", {:.0f} between pods", card / n.oversubscription / n.pod_oversubscription);
  out += fmt::format("; {:g} us between leaves\n", n.latency_us);
  if (n.leaf_nodes == 0) return out;
  for (std::int64_t pod = 0; pod < s.pods; ++pod) {
    const Nodes nodes_of_pod = pod_nodes(s, pod);
    const Groups groups = groups_of(s, pod);
    out += fmt::format("pod {}: {} on {} groups of leaves\n", pod, range("node", nodes_of_pod.from, nodes_of_pod.to),
                       groups.count);
    const std::vector<std::int64_t> rows = shown(groups.count, 8);
    for (const std::int64_t i : rows) {
      const char* branch = i == rows.back() ? "└─" : "├─";
      if (i == gap) {
        out += fmt::format("{} ... {} more\n", branch, groups.count - 7);
      } else {
        const Nodes in = group_nodes(s, groups.first + i);
        out += fmt::format("{} {}  ({})\n", branch, range("node", in.from, in.to), leaves_text(s, groups.first + i));
      }
    }
  }
  return out;
}

}  // namespace octet
