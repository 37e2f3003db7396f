#pragma once

#include "src/train/run/run_environment.h"

namespace octet {

/// The whole run: plan, resume, train, validate, save, log, stop. Collective. Returns the exit code, the same on every
/// rank.
int run_training(const RunConfig& config, const RunEnvironment& environment);

}  // namespace octet
