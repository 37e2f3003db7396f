#pragma once

#include <cstdint>
#include <vector>

#include "src/comm/mesh.h"
#include "src/comm/trace.h"
#include "src/run_config/run_config.h"

namespace octet {

/// What one rank asks of its groups at once: one call, or several between one group_begin and group_end.
struct StepCollective {
  std::vector<CommRecord> calls;  ///< all of one group and one unit
  std::int64_t times = 1;         ///< a step
};

/// All collectives of a training step between devices (those of `control` are a few bytes): the CommTrace of a step
/// after the first, run dry (dry_run.h), in the order of first use, and equal ones counted. Units of the same
/// collectives, as blocks are, are one entry that bears the name of the first. Groups of one rank have none but with
/// parallel.one_rank_exchange.
std::vector<StepCollective> step_collectives(const RunConfig& config, const MeshShape& mesh, int rank);

}  // namespace octet
