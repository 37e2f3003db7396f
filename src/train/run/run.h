#pragma once

#include "src/train/run/stop_request.h"
#include "src/train/start/run_environment.h"

namespace octet {

/// The whole run: plan, resume, train, validate, save, log, stop. Collective. Returns the exit code, the same on every
/// rank. `signal` was made when the process began, so that a request that comes while it starts counts too.
int run_training(const RunConfig& config, const RunEnvironment& environment, const StopSignal& signal);

}  // namespace octet
