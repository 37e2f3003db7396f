#pragma once

#include <string>
#include <vector>

#include "src/tuning/cost_model/model.h"
#include "src/tuning/tuning_file.h"

namespace octet {

struct FittedConstants {
  TunedConstants constants;
  std::vector<std::string> notes;  ///< what was set and why, and what could not be
};

/// The latencies for which NCCL's own formula gives the fitted alphas of an algorithm and protocol, over all its lines
/// on two or more nodes. The formula is linear in both: hw_latency of the network, and base_latency, which only lines
/// of several numbers of nodes tell apart; with one number of nodes it stays. NVLink's latency stays. alpha is compared
/// at a size of its line at which latency rules, for rings between nodes have a factor by size. Nothing is set where
/// NCCL's constants already give every alpha within its 95 % interval or 10 %, where a latency would be negative, and,
/// as a note, for versions before 2.28, whose tuners cannot change constants.
FittedConstants fit_constants(const NcclVersion& version, const NcclMachine& machine,
                              const std::vector<TunedFit>& fits);

}  // namespace octet
