#pragma once

#include <vector>

#include "src/cluster/cores/cpu_list.h"

namespace octet {

/// A rank of a node: the CPUs that it may run on when it starts, which are the job's there unless its launcher has
/// already given it some of them, and those near its GPU (none: it has no GPU, or nobody knows).
struct RankPlace {
  CpuList allowed, near;
};

/// What a rank gets.
struct RankCores {
  CpuList cpus;         ///< of whole cores, as far as the rank may use them
  int cores = 0;        ///< how many
  bool is_near = true;  ///< all near its GPU, where it has one whose place is known
  int sharing = 1;      ///< ranks that have just these CPUs: above 1 where there are fewer cores than ranks
};

/// Divides the cores of a node (CoreMap::cores) among its ranks. A rank gets cores of the job that are near its GPU;
/// ranks that want the same cores divide them into runs of neighbours whose lengths differ by at most one. Where fewer
/// cores are near a GPU than ranks want them, these ranks may take any core that they may use, and all ranks concerned
/// share the cores as evenly as possible. Where there are fewer cores than ranks in all, no rank gets a core of its
/// own. A pure function, so that all ranks of a node get the same result.
std::vector<RankCores> plan_cores(const std::vector<CpuList>& cores, const std::vector<RankPlace>& ranks);

}  // namespace octet
