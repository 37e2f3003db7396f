#pragma once

#include <string>
#include <vector>

#include "jobs/commbench/teams.h"

namespace octet::commbench {

/// A rank of a node, and so a GPU and the NIC near it, by which something is slow.
struct SlowRank {
  int local_rank = 0;  ///< the place among its node's ranks
  double factor = 1;   ///< times the time of the node's ranks in the middle

  bool operator==(const SlowRank&) const = default;
};

/// Which local ranks a slow part is slow by, the slowest first: those whose times are more than `threshold` times the
/// lower median of all local ranks. Of a link the times of its own pairs of ranks count, of a node the medians over its
/// partners. Empty where all are alike, and of teams of one rank. `to_us`: one way, at (sender, receiver).
std::vector<SlowRank> slow_ranks(const Teams& teams, const RankMatrix<float>& to_us, const SlowPart& part,
                                 double threshold);

/// ", by local rank 5 (rank 29): 2.04 times as long as the others there", ", all ranks alike"; nothing for teams of one
/// rank.
std::string describe(const Teams& teams, const SlowPart& part, const std::vector<SlowRank>& slow);

}  // namespace octet::commbench
