#pragma once

#include "src/train/run/run_environment.h"
#include "src/train/run/stop_request.h"

namespace octet {

/// The whole run: plan, resume, train, validate, save, log, stop. Collective. Returns the exit code, the same on every
/// rank. `signal` was made when the process began, so that a request that comes while it starts counts too.
int run_training(const RunConfig& config, const RunEnvironment& environment, const StopSignal& signal);

}  // namespace octet
