#pragma once

#include <memory>

#include "src/comm/communicator.h"
#include "src/data/sampler.h"
#include "src/run_config/run_config.h"

namespace octet {

/// The data of a run, opened by its ranks together (open_token_files.h), whose errors name data.train. Collective over
/// `control`, main thread.
std::unique_ptr<Sampler> open_data(const RunConfig& config, Communicator& control);

}  // namespace octet
