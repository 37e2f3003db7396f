#pragma once

#include <string>
#include <utility>
#include <vector>

#include "src/tuning/pairs/pair_effects.h"

namespace octet {

/// Rounds of pairs (lower, higher) in which each of `n` meets every other exactly once and nobody two others at a time:
/// n - 1 rounds of all, or, where n is odd, n rounds in which one pauses. The circle method of tournaments.
std::vector<std::vector<std::pair<int, int>>> round_robin(int n);

/// Something that is slower than the rest explains.
struct SlowPart {
  enum class Kind { node, sender, receiver, link };

  Kind kind = Kind::link;
  int from = -1;          ///< the node, the sender; of a link where it begins
  int to = -1;            ///< of a link where it ends; the receiver; else -1
  bool both_ways = true;  ///< of a link
  double factor = 1;      ///< times the time of the others

  bool operator==(const SlowPart&) const = default;
};

struct PairFindings {
  std::string unjudged;   ///< why nothing can be called slow, and then nothing below is set; empty: it can
  double typical_us = 0;  ///< of a healthy pair
  double threshold = 1;   ///< factor from which on something counts as slow
  std::vector<SlowPart> slow;
};

/// The least number of nodes, of which each met PairEffects::least_partners others, from which something is called
/// slow. With 3 nodes each has 2 links and half of the rests are 0 by construction: of simulated healthy sweeps with
/// normal noise of 10 % (30 %) something is named in 6 (39) of 100 with 3 nodes, in 1 (7) with 4.
inline constexpr int least_nodes_to_judge = 4;
/// The noise up to which a sweep is judged: where healthy pairs scatter by more than this factor, what is slow cannot
/// be told from them.
inline constexpr double most_noise = 10;

/// Names nodes, directions of a node and links that are slow, by PairEffects: a node whose effect is above the
/// threshold, a link whose rest is. Medians let a minority be arbitrarily wrong: of a node, fewer than half of its
/// links, of the machine fewer than half of the nodes. The threshold is the factor `tolerance`, or 5 robust standard
/// deviations of the rests, whichever is more; where the latter is above `most_noise`, and above the tolerance, nothing
/// is judged. Nodes that met too few others are not judged, nor are their links. Throws an internal error where a time
/// is negative or no number, or tolerance not above 1.
PairFindings find_slow_parts(const PairTimes& times, double tolerance = 1.25);

/// "link n1 <-> n3 takes 4.1 times as long as others", with the nodes' names.
std::string describe(const SlowPart& part, const std::vector<std::string>& names);

}  // namespace octet
