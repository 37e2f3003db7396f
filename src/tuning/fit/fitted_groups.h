#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/tuning/fit/alpha_beta.h"
#include "src/tuning/measurement.h"

namespace octet {

/// All rows of one collective by one algorithm and protocol on one shape, and the line through them.
struct FittedGroup {
  Collective collective = Collective::all_reduce;
  std::optional<Algorithm> algorithm;  ///< none: the library chose
  std::optional<Protocol> protocol;
  CommShape shape;
  std::vector<FitPoint> points;
  std::vector<std::string> sources;  ///< file and line of each point
  std::optional<AlphaBeta> fit;
  std::string why_not;  ///< there is no fit

  bool forced() const { return algorithm && protocol; }
};

/// "all_reduce tree/ll128, 16 x 8".
std::string name_of(const FittedGroup& group);

/// The groups by collective, shape, algorithm and protocol, in this order; in place and out of place count alike. Each
/// group is fitted where it can be.
std::vector<FittedGroup> fit_groups(const std::vector<Measurement>& rows);

/// What a group took for so many bytes: the median of its rows of that size that were kept; of rows that all lie off
/// the line but agree with each other, theirs; without rows of that size the line. None outside of the sizes measured,
/// where rows were left out and cannot be told from accidents, and where the group has no fit.
struct GroupTime {
  double us = 0;
  double low_us = 0, high_us = 0;  ///< 95 % interval
};
std::optional<GroupTime> time_of(const FittedGroup& group, std::int64_t bytes);

}  // namespace octet
