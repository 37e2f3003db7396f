#pragma once

#include <cstdint>
#include <vector>

#include "src/comm/dry_communicator.h"
#include "src/train/options/run_config.h"

namespace octet {

/// Bytes of a GPU that NCCL takes for the communicators of a run (DryRun::groups), with `ranks_on_node` ranks on each
/// node: the upper estimate of src/comm/nccl_footprint.h. 0 where no NCCL is used: on device cpu, or for one rank.
std::int64_t nccl_needs(const std::vector<DryGroup>& groups, const RunConfig& config, int ranks_on_node);

}  // namespace octet
