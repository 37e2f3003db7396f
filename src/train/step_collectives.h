#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/comm/trace.h"
#include "src/train/memory_plan.h"

namespace octet {

/// What one rank asks of its groups at once: one call, or several between one group_begin and group_end.
struct StepCollective {
  std::vector<CommRecord> calls;  ///< all of one group and one unit
  std::int64_t times = 1;         ///< a step
};

/// All collectives of a training step between devices (those between hosts are a few bytes), by a dry pass of the model
/// that records what it asks for: the CommTrace of a real step after the first, but in the order of first use, and
/// equal ones counted. Units of the same collectives, as blocks are, are one entry that bears the name of the first.
/// Groups of one rank have none. Nothing is allocated but what a dry pass takes.
std::vector<StepCollective> step_collectives(const PlanInput& input, Stream& stream);

}  // namespace octet
