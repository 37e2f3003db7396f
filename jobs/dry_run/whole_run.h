#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "jobs/run/saved_run.h"
#include "src/train/options/run_config.h"

namespace octet {

// Lines of a dry run about more than a step. `saved`: what is in run.dir, if there is something.

/// What the learning rate does, also in a run that goes on from what is saved.
std::string schedule_lines(RunConfig config, const std::optional<SavedRun>& saved);
/// How the mixture changes; the files are not looked at.
std::string mixture_lines(RunConfig config, const std::optional<SavedRun>& saved);
/// Where a new run's weights come from; the folder is looked at, without the data.
std::string weights_lines(const RunConfig& config, const std::optional<SavedRun>& saved);
/// All steps of the run, from its first to train.steps, where each takes `step_seconds` on so many GPUs.
std::string all_steps_text(const RunConfig& config, std::int64_t gpus, double step_seconds);
/// What checkpoints take of the file system: fp32 weights and two moments of each; what else they hold is small.
std::string checkpoints_text(const RunConfig& config);

}  // namespace octet
