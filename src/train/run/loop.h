#pragma once

#include "src/train/plan/memory_plan.h"
#include "src/train/run/checkpointing.h"
#include "src/train/run/profiler.h"
#include "src/train/run/run_log.h"
#include "src/train/run/stop_request.h"
#include "src/train/start/failure_status.h"
#include "src/train/step/trainer.h"

namespace octet {

/// What the loop works with.
struct LoopParts {
  const RunConfig& config;
  const RankContext& context;
  Trainer& trainer;
  RunLog& log;
  Checkpointing& checkpoints;
  Profiler& profiler;
  const StopRequest& stop;
  FailureStatus& failure;  ///< whose done() counts finished steps whose results were read
  const MemoryPlan& plan;
};

/// Steps with their log lines, validations, health checks and checkpoints until the last one, a stop request or a bad
/// step; the log and the failure status are told how it ended, and the view of the last checkpoint is waited for.
/// Collective. Returns the exit code, the same on every rank. failure.done() has the steps of an earlier start when
/// this is called, and is kept up to date also when an exception leaves it.
int train_steps(const LoopParts& parts);

}  // namespace octet
