#pragma once

#include <string>
#include <vector>

#include "src/profile/breakdown.h"
#include "src/profile/timeline.h"

namespace octet {

// What rank 0 makes of all ranks' times.

/// A rank's time, as rank 0 knows it of all.
struct RankTime {
  std::string node;
  Breakdown seconds;
};

/// profile.json. `mine`: rank 0's recording.
std::string profile_json(const Recording& mine, const std::vector<RankTime>& ranks);
/// The table for the console: milliseconds a step of each kind and its part of the wall time, as means over the ranks,
/// and the least and most of any rank; what rank 0's collectives carried a step.
std::string profile_table(const Recording& mine, const std::vector<RankTime>& ranks);

}  // namespace octet
