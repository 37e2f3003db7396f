#include "src/tuning/contention/collectives.h"

#include <algorithm>
#include <utility>

#include "src/tuning/contention/fabric.h"
#include "src/tuning/contention/segments.h"
#include "src/tuning/contention/trees.h"

namespace octet {
namespace {

/// Enough that filling the trees takes little of the whole, for any number of nodes.
constexpr int tree_chunks = 64;

class Builder {
 public:
  Builder(const FlowNetwork& shape, const std::vector<NodePlace>& nodes, const Workload& workload)
      : shape_(shape), nodes_(nodes), workload_(workload), fabric_(shape, nodes) {}

  Traffic build() {
    const int ranks = static_cast<int>(nodes_.size()) * shape_.gpus;
    for (const std::vector<int>& group : groups_of(workload_.dimension, workload_.mesh, ranks)) {
      if (!workload_.collective) {
        add_messages(group);
        continue;
      }
      const std::vector<Segment> segments = segments_of(group, shape_, nodes_);
      const int members = static_cast<int>(group.size());
      if (segments.size() == 1) {
        add_node(segments.front(), members);
      } else if (workload_.algorithm == Algorithm::tree) {
        add_trees(segments);
      } else {
        add_rings(segments, members);
      }
    }
    return {fabric_.links(), std::move(lanes_)};
  }

 private:
  int steps(int members) const { return (workload_.collective == Collective::all_reduce ? 2 : 1) * (members - 1); }
  double latency_into(const Segment& s) const {
    return shape_.latency_us + static_cast<double>(s.gpus.size() - 1) * shape_.nvlink_latency_us;
  }

  std::vector<int> path(const Segment& from, const Segment& to, std::size_t channel) {
    std::vector<int> out = fabric_.route(from.node, from.cards[channel], to.node, to.cards[channel]);
    if (from.gpus.size() > 1) out.push_back(fabric_.nvlink(from.node, from.gpus.front()));
    return out;
  }

  /// Between the neighbours of a group, both ways.
  void add_messages(const std::vector<int>& group) {
    for (std::size_t i = 0; i + 1 < group.size(); ++i) {
      const Segment upper = segments_of({group[i]}, shape_, nodes_).front();
      const Segment lower = segments_of({group[i + 1]}, shape_, nodes_).front();
      for (const auto& [from, to] : {std::pair(upper, lower), std::pair(lower, upper)}) {
        const bool within = from.node == to.node;
        lanes_.push_back({from.node,
                          to.node,
                          within ? std::vector{fabric_.nvlink(from.node, from.gpus.front())} : path(from, to, 0),
                          static_cast<double>(workload_.bytes),
                          1,
                          within ? shape_.nvlink_latency_us : latency_into(to),
                          {}});
      }
    }
  }

  /// A group within a node: one ring over its NVLinks.
  void add_node(const Segment& s, int members) {
    const int first = static_cast<int>(lanes_.size());
    const double block = static_cast<double>(workload_.bytes) / members;
    for (int i = 0; i < members; ++i) {
      lanes_.push_back({s.node,
                        s.node,
                        {fabric_.nvlink(s.node, s.gpus[static_cast<std::size_t>(i)])},
                        block,
                        steps(members),
                        shape_.nvlink_latency_us,
                        {{first + (i + members - 1) % members, 1}}});
    }
  }

  void add_rings(const std::vector<Segment>& segments, int members) {
    const std::size_t rings = channels_of(segments), hops = segments.size();
    const double block = static_cast<double>(workload_.bytes) / members / static_cast<double>(rings);
    for (std::size_t ring = 0; ring < rings; ++ring) {
      const int first = static_cast<int>(lanes_.size());
      for (std::size_t i = 0; i < hops; ++i) {
        const Segment &from = segments[i], &to = segments[(i + 1) % hops];
        const int before = first + static_cast<int>((i + hops - 1) % hops);
        lanes_.push_back({from.node,
                          to.node,
                          path(from, to, ring),
                          block,
                          steps(members),
                          latency_into(to),
                          {{before, static_cast<int>(from.gpus.size())}}});
      }
    }
  }

  void add_trees(const std::vector<Segment>& segments) {
    const std::size_t channels = channels_of(segments);
    const double half = static_cast<double>(workload_.bytes) / static_cast<double>(2 * channels);
    for (std::size_t channel = 0; channel < channels; ++channel) {
      for (const Tree& tree : two_trees(static_cast<int>(segments.size()))) add_tree(segments, tree, channel, half);
    }
  }

  /// Two lanes for each node but the root: lane 2i of the tree goes up from its i-th such node, lane 2i+1 down to it.
  void add_tree(const std::vector<Segment>& segments, const Tree& tree, std::size_t channel, double bytes) {
    const int first = static_cast<int>(lanes_.size());
    const auto up = [&](int node) { return first + 2 * (node - (node > tree.root ? 1 : 0)); };
    for (int node = 0; node < static_cast<int>(segments.size()); ++node) {
      if (node == tree.root) continue;
      const int parent = tree.parent[static_cast<std::size_t>(node)];
      const Segment& below = segments[static_cast<std::size_t>(node)];
      const Segment& above = segments[static_cast<std::size_t>(parent)];
      std::vector<Feeder> gathered, whole;
      for (const int child : tree.children_of(node)) gathered.push_back({up(child), 0});
      if (parent == tree.root) {
        for (const int child : tree.children_of(parent)) whole.push_back({up(child), 0});
      } else {
        whole.push_back({up(parent) + 1, 0});
      }
      lanes_.push_back({below.node, above.node, path(below, above, channel), bytes / tree_chunks, tree_chunks,
                        latency_into(above), std::move(gathered)});
      lanes_.push_back({above.node, below.node, path(above, below, channel), bytes / tree_chunks, tree_chunks,
                        latency_into(below), std::move(whole)});
    }
  }

  const FlowNetwork& shape_;
  const std::vector<NodePlace>& nodes_;
  const Workload& workload_;
  FlowLinks fabric_;
  std::vector<Lane> lanes_;
};

}  // namespace

Traffic traffic_of(const FlowNetwork& shape, const std::vector<NodePlace>& nodes, const Workload& workload) {
  check(workload);
  return Builder(shape, nodes, workload).build();
}

}  // namespace octet
