#pragma once

#include <string>

#include "jobs/evaluate/evaluated_model.h"

namespace octet::evaluate {

/// Writes on behind a prompt: the text to standard output as it comes, how fast it came to standard error. Usage error
/// for a prompt that the model cannot see whole, and where ranks would do the same twice. Collective.
void generate(const std::string& model, const GenerateOptions& options, const ModelOptions& models, const Ranks& ranks);

}  // namespace octet::evaluate
