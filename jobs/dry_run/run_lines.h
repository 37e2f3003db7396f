#pragma once

#include <cstdint>
#include <string>

#include "jobs/run/next_start.h"
#include "src/run_config/run_config.h"

namespace octet {

// Lines of a dry run about more than a step.

/// What the learning rate does, also in a run that goes on from a checkpoint.
std::string schedule_line(const NextStart& start);
/// How the mixture changes; the files are not looked at.
std::string mixture_lines(const NextStart& start);
/// Where a new run's weights come from; the folder is looked at, without the data.
std::string weights_line(const NextStart& start);
/// All steps of the run, from its first to train.steps, where each takes `step_seconds` on so many GPUs.
std::string all_steps_text(const RunConfig& config, std::int64_t gpus, double step_seconds);
/// What checkpoints take of the file system: fp32 weights and two moments of each; what else they hold is small.
std::string checkpoints_text(const RunConfig& config);

}  // namespace octet
