#include "src/tuning/contention/trees.h"

namespace octet {
namespace {

/// Node 0 on top of a tree in the order of the other numbers: odd ones are leaves, and a number's height is that of its
/// lowest bit.
int parent_of(int node, int nodes) {
  if (node == 0) return -1;
  const int bit = node & -node;
  const int up = (node ^ bit) | (bit << 1);
  return up < nodes ? up : node ^ bit;
}

}  // namespace

std::vector<int> Tree::children_of(int node) const {
  std::vector<int> children;
  for (int i = 0; i < static_cast<int>(parent.size()); ++i) {
    if (parent[static_cast<std::size_t>(i)] == node) children.push_back(i);
  }
  return children;
}

std::array<Tree, 2> two_trees(int nodes) {
  const auto count = static_cast<std::size_t>(nodes);
  std::array<Tree, 2> trees{Tree{0, std::vector<int>(count)}, Tree{0, std::vector<int>(count)}};
  // The second is the first in a mirror, which makes odd numbers even; of an odd count the first moved on by one.
  const auto other = [nodes](int node) { return nodes % 2 == 0 ? nodes - 1 - node : (node + 1) % nodes; };
  for (int node = 0; node < nodes; ++node) {
    const int parent = parent_of(node, nodes);
    trees[0].parent[static_cast<std::size_t>(node)] = parent;
    trees[1].parent[static_cast<std::size_t>(other(node))] = parent < 0 ? -1 : other(parent);
  }
  trees[1].root = other(0);
  return trees;
}

}  // namespace octet
