#pragma once

#include <utility>
#include <vector>

#include "src/tuning/pairs/pairwise.h"

namespace octet {

/// Pairs (lower, higher) that meet at once.
using PairRound = std::vector<std::pair<int, int>>;

/// The pairs of round_robin(n), at most so many in a round. Which of a round meet at the same time is drawn, always
/// alike, so that no order of nodes below leaves brings them all under one.
std::vector<PairRound> quiet_rounds(int n, int at_once);

/// What to measure again, given the shortest times of the sweeps so far, of which the first is round_robin; empty:
/// nothing.
///
/// In the first sweep all pairs of a round share the uplinks of a network that has fewer uplinks than ports: many pairs
/// wait for each other, differently in every round, and that hides what is slow by itself. So all pairs meet again
/// where something is slow, where noise hides what is slow, or where nodes have partners that are `tolerance` times as
/// fast as is typical. Then one pair for 32 nodes (at least one) meets at a time, which leaves uplinks of up to 8:1 to
/// few pairs. The pairs of what is still slow meet again, a quarter as many at a time, and so on until they are alone,
/// unless that takes more than `most_rounds` rounds a node.
std::vector<PairRound> next_sweep(const PairTimes& shortest, int sweeps, double tolerance);
inline constexpr int most_rounds = 32;

/// How many times as long as the fastest partner of a node a typical one takes: the median over nodes; 1 where nothing
/// met. Far above 1 in a network that has not the same bandwidth between all nodes.
double typical_to_nearest(const PairTimes& times);

}  // namespace octet
