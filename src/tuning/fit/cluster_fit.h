#pragma once

#include <string>
#include <vector>

#include "src/cluster/profile.h"
#include "src/tuning/fit/benchmark_file.h"
#include "src/tuning/fit/fitted_groups.h"
#include "src/tuning/fit/sick.h"
#include "src/tuning/tuning_file.h"

namespace octet {

/// Pairs of one collective and size, and what they name.
struct PairSweep {
  std::string what;
  SickReport report;
};

/// Everything that a set of measurement files says of a cluster.
struct ClusterFit {
  std::vector<FittedGroup> groups;
  std::vector<PairSweep> sweeps;       ///< of runs on two nodes each, where there were enough
  TuningFile tuning;                   ///< its provenance has neither time nor tool
  std::vector<std::string> constants;  ///< what was set and why
  bool has_model = true;               ///< of that NCCL; without one there are neither constants nor choices
};

/// Fits, constants and choices. `nccl`: the version; empty: as the files say. Usage errors where files and option
/// contradict each other or none says it. Of a release whose cost model is not known, fits and sweeps alone.
ClusterFit fit_cluster(const std::vector<BenchmarkFile>& files, const ClusterProfile& profile, const std::string& nccl);

}  // namespace octet
