#pragma once

#include "src/train/run/stop_request.h"
#include "src/train/start/failure_status.h"
#include "src/train/start/rank_context.h"

namespace octet {

/// The whole run: plan, resume, train, validate, save, log, stop. Collective. Returns the exit code, the same on every
/// rank. `failure`: of the run's directory. `signal` was made when the process began, so that a request that comes
/// while it starts counts too.
int run_training(const RunConfig& config, const RankContext& context, FailureStatus& failure, const StopSignal& signal);

}  // namespace octet
