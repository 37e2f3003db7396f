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

/// Names what makes pairs slow in a sweep in which nodes met two by two: what find_slow_parts
/// (src/tuning/pairs/pairwise.h) finds from 15 % on where both directions of a pair have one time. A node most of whose
/// pairs are slow is sick itself, and a pair slower than both of its nodes are elsewhere is a sick link. Repeated pairs
/// count by their median.
SickReport find_sick(const std::vector<PairTime>& pairs);

}  // namespace octet
