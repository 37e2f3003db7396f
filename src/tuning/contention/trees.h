#pragma once

#include <array>
#include <vector>

namespace octet {

struct Tree {
  int root = 0;
  std::vector<int> parent;  ///< of each node; -1 of the root

  std::vector<int> children_of(int node) const;
};

/// Two binary trees over `nodes` nodes (at least 2). But for one node, who has children in one is a leaf of the other.
std::array<Tree, 2> two_trees(int nodes);

}  // namespace octet
