#pragma once

#include <cstdint>
#include <string>

#include "src/train/options/run_config.h"

namespace octet {

/// Two lines of a dry run about more than a step.

/// All steps of the run, from its first to train.steps, where each takes `step_seconds` on so many GPUs.
std::string all_steps_text(const RunConfig& config, std::int64_t gpus, double step_seconds);
/// What checkpoints take of the file system: fp32 weights and two moments of each; what else they hold is small.
std::string checkpoints_text(const RunConfig& config);

}  // namespace octet
