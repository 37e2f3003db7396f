#pragma once

#include <string>
#include <vector>

#include "src/tuning/fit/benchmark_file.h"

namespace octet {

struct SickNode {
  std::string node;
  double slowdown = 1;  ///< over the median node
  int pairs = 0;        ///< measured with it
};
struct SickLink {
  std::string first, second;
  double slowdown = 1;  ///< over what the slower of the two nodes reaches with others
};
struct SickReport {
  std::vector<SickNode> nodes;  ///< worst first
  std::vector<SickLink> links;
  double threshold = 1;  ///< slowdown from which something is named
  std::string unsure;    ///< why nothing can be told apart; empty: it can
};

/// Names what makes pairs slow in a sweep in which nodes met two by two. A pair runs at the speed of its slowest part:
/// of either node or of what lies between them. So what a node can do is seen in its faster pairs (the lower quartile,
/// which noise does not make as the fastest pair would): a node all of whose pairs are slow is sick itself, and a pair
/// slower than both of its nodes are elsewhere is a sick link. Named is what lies more than 5 standard deviations and
/// 15 % above the median; fewer than half of the nodes may be sick. Repeated pairs count by their median.
SickReport find_sick(const std::vector<PairTime>& pairs);

}  // namespace octet
