#pragma once

#include "jobs/evaluate/evaluate_texts.h"

namespace octet::evaluate {

/// --tasks: asks the model the questions of tasks, prints a table and writes results.json and the samples of each task.
/// Tasks that the folder of results has from the same model and data are not asked again. Collective.
void evaluate_tasks(const Options& options, const Ranks& ranks);

}  // namespace octet::evaluate
