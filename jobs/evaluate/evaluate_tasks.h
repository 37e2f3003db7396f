#pragma once

#include "jobs/evaluate/evaluated_model.h"

namespace octet::evaluate {

/// --tasks by the model and, with --compare, by the other one, which is loaded when the first is gone. Prints tables
/// and writes results.json and the samples of each task. Collective.
void evaluate_tasks(const Options& options, const Ranks& ranks);

}  // namespace octet::evaluate
