#include "src/tuning/contention/fabric.h"

#include <fmt/format.h>

namespace octet {

int FlowLinks::link(const std::string& name, double gbs) {
  const auto [entry, is_new] = by_name_.try_emplace(name, static_cast<int>(links_.size()));
  if (is_new) links_.push_back({name, gbs});
  return entry->second;
}

std::string FlowLinks::leaf_name(const NodePlace& place, int card) const {
  return shape_.rails ? fmt::format("leaf {} rail {}", place.leaf, card) : fmt::format("leaf {}", place.leaf);
}

std::vector<int> FlowLinks::route(int from, int from_card, int to, int to_card) {
  const NodePlace& a = node(from);
  const NodePlace& b = node(to);
  std::vector<int> path{link(fmt::format("{} card {} out", a.host, from_card), shape_.card_gbs)};
  const bool same_leaf = a.leaf == b.leaf && a.pod == b.pod && (!shape_.rails || from_card == to_card);
  if (!same_leaf) {
    const int cards_of_leaf = shape_.rails ? 1 : shape_.cards;
    // Leaves of unknown size are not oversubscribed: they carry what the job's nodes send.
    const int leaf_nodes = shape_.leaf_nodes > 0 ? shape_.leaf_nodes : static_cast<int>(nodes_.size());
    const double leaf_gbs = leaf_nodes * cards_of_leaf * shape_.wire_gbs / shape_.oversubscription;
    path.push_back(link(leaf_name(a, from_card) + " up", leaf_gbs));
    if (a.pod != b.pod) {
      const double pod_gbs =
          shape_.pod_nodes * shape_.cards * shape_.wire_gbs / shape_.oversubscription / shape_.pod_oversubscription;
      path.push_back(link(fmt::format("pod {} up", a.pod), pod_gbs));
      path.push_back(link(fmt::format("pod {} down", b.pod), pod_gbs));
    }
    path.push_back(link(leaf_name(b, to_card) + " down", leaf_gbs));
  }
  path.push_back(link(fmt::format("{} card {} in", b.host, to_card), shape_.card_gbs));
  return path;
}

int FlowLinks::nvlink(int index, int gpu) {
  return link(fmt::format("{} GPU {} NVLink", node(index).host, gpu), shape_.nvlink_gbs);
}

}  // namespace octet
