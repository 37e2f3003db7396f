#pragma once

#include <cstdint>

#include "src/train/memory_plan.h"
#include "src/train/run_log.h"
#include "src/train/trainer.h"

namespace octet {

/// Steps with their log lines, validations and health checks until the last one, a stop signal or a bad step; the log
/// is told how it ended. Collective. Returns the exit code, the same on every rank. `done` counts finished steps, also
/// when an exception leaves this.
int train_steps(const RunConfig& config, const RunEnvironment& environment, Trainer& trainer, RunLog& log,
                const MemoryPlan& plan, std::int64_t& done);

}  // namespace octet
