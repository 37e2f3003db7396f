#pragma once

#include "src/base/options/schema.h"
#include "src/run_config/run_config.h"

namespace octet {

/// Throws a usage error for values out of range and for combinations that no run could have, whatever its number of
/// ranks. `origins` (Schema::origins) lets messages name file and line.
void validate(const RunConfig& config, const Origins& origins = {});

}  // namespace octet
