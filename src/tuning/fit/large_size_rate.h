#pragma once

#include <cmath>
#include <optional>

#include "src/tuning/cost_model/model.h"
#include "src/tuning/fit/fitted_groups.h"

namespace octet {

/// A group's rate where bytes rule its time.
struct LargeSizeRate {
  const FittedGroup* group = nullptr;
  double gbs = 0;      ///< algorithm bandwidth, without what the model corrects by size
  double model = 0;    ///< the same by the model
  double allowed = 0;  ///< difference of logarithms that says nothing: the 95 % interval of a row, at least 10 %
  bool is(double other) const { return std::abs(std::log(gbs / other)) <= allowed; }
};

/// The entry of a group with a forced algorithm and protocol.
const AlgorithmCost& cost_of(const FittedGroup& group, const AlgorithmCosts& costs);

/// The median, over sizes at which the model's latency is at most a fifth of the measured time, of
/// bytes / (time - latency) over the model's rate at that size; times the model's rate. None for groups that are not
/// fitted, not forced or that NCCL does not run, with fewer than three such sizes, and where their rates disagree by
/// more than 10 %: then the time has another form than the model's.
std::optional<LargeSizeRate> large_size_rate(const NcclVersion& version, const NcclMachine& machine,
                                             const ModelConstants& constants, const FittedGroup& group);

}  // namespace octet
