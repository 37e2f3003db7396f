#pragma once

#include "jobs/evaluate/evaluate_options.h"
#include "jobs/evaluate/evaluated_model.h"

namespace octet::evaluate {

/// --data or --text by the model and, with --compare, by the other one, which is loaded when the first is gone. Prints
/// the numbers and writes results.json. Collective.
void evaluate_texts(const Options& options, const Ranks& ranks);

}  // namespace octet::evaluate
