#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "src/tuning/collective.h"
#include "src/tuning/cost_model/model_constants.h"
#include "src/tuning/cost_model/nccl_machine.h"
#include "src/tuning/cost_model/nccl_release.h"

namespace octet {

// NCCL's own prediction of what a collective costs, from which it chooses algorithm and protocol: microseconds =
// latency + bytes / (1000 GB/s), with a few corrections (NVIDIA/nccl, src/graph/tuning.cc, ncclTopoTuneModel and
// ncclTopoGetAlgoTime, and src/enqueue.cc, updateCollCostTable, at v2.27.7-1 and v2.28.9-1). In double where NCCL has
// float. The number of channels that small messages are cut to is chosen after it and does not change it.

/// A straight line for one algorithm and protocol, before the corrections by size.
struct AlgorithmCost {
  double latency_us = 0;
  double algorithm_gbs = 0;   ///< bytes a rank over time, not the bus bandwidth
  std::string_view excluded;  ///< why NCCL does not run it; empty: it may
};

using AlgorithmCosts = std::array<std::array<AlgorithmCost, protocol_count>, algorithm_count>;

/// Usage error for shapes of fewer than two ranks or more ranks a node than the machine has GPUs.
AlgorithmCosts algorithm_costs(const NcclVersion& version, const NcclMachine& machine, const ModelConstants& constants,
                               Collective collective, CommShape shape);

/// The same with what NCCL corrects at this size: the bandwidth of trees, the latency of rings between nodes.
AlgorithmCosts costs_at(const NcclVersion& version, const NcclMachine& machine, const ModelConstants& constants,
                        Collective collective, CommShape shape, std::int64_t bytes);

/// Microseconds, -1 for what NCCL does not run. `bytes` as in bus_factor(); `pipe_ops`: collectives of a group that
/// share channels.
AlgorithmTable predicted_us(const NcclVersion& version, const NcclMachine& machine, const ModelConstants& constants,
                            Collective collective, CommShape shape, std::int64_t bytes, int pipe_ops = 1);

struct Choice {
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
  double us = 0;
};

/// The least entry that is not negative, the first of equal ones. Usage error when all are negative.
Choice choose(const AlgorithmTable& table);

/// GB/s of the bus, as nccl-tests shows it.
double bus_gbs(Collective collective, CommShape shape, std::int64_t bytes, double us);

}  // namespace octet
