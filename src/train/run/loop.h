#pragma once

#include <atomic>
#include <cstdint>

#include "src/train/plan/memory_plan.h"
#include "src/train/run/checkpointing.h"
#include "src/train/run/profiler.h"
#include "src/train/run/run_log.h"
#include "src/train/run/stop_request.h"
#include "src/train/step/trainer.h"

namespace octet {

/// What the loop works with.
struct LoopParts {
  const RunConfig& config;
  const RunEnvironment& environment;
  Trainer& trainer;
  RunLog& log;
  Checkpointing& checkpoints;
  Profiler& profiler;
  const StopRequest& stop;
  const MemoryPlan& plan;
};

/// Steps with their log lines, validations, health checks and checkpoints until the last one, a stop request or a bad
/// step; the log is told how it ended. Collective. Returns the exit code, the same on every rank. `done` counts
/// finished steps whose results were read: those of an earlier start when this is called; kept up to date also when an
/// exception leaves this.
int train_steps(const LoopParts& parts, std::atomic<std::int64_t>& done);

}  // namespace octet
