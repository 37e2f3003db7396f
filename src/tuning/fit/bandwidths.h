#pragma once

#include <string>
#include <vector>

#include "src/tuning/cost_model/model.h"
#include "src/tuning/fit/fitted_groups.h"
#include "src/tuning/tuning_file.h"

namespace octet {

struct FittedBandwidths {
  std::vector<TunedBandwidth> limits;
  std::vector<std::string> notes;  ///< what was set and why, and what NCCL's table cannot express
};

/// The limits of NCCL's bandwidth table (GB/s; of a channel but for ll) for which its own formulas give the rates of
/// the groups with a forced algorithm and protocol. A group's rate is the median over three or more sizes at which
/// `constants` (NCCL's with the fitted latencies) make latency at most a fifth of the time, of
/// bytes / (time - latency), over the model's rate at that size. A limit is set where a group's rate lies more than its
/// 95 % interval and 10 % from the model's, to the median of what the groups of its row need; it must then give the
/// rate of all of them, and leave room for what else it bounds (`tree` bounds all protocols of trees). Otherwise
/// nothing is set and a note says why: so too for algorithms without a limit, for rates above NCCL's other bounds, and
/// for versions before 2.28, whose tuners cannot change constants.
FittedBandwidths fit_bandwidths(const NcclVersion& version, const NcclMachine& machine, const ModelConstants& constants,
                                const std::vector<FittedGroup>& groups);

}  // namespace octet
