#pragma once

#include "jobs/evaluate/evaluated_model.h"
#include "jobs/evaluate/text_report.h"

namespace octet::evaluate {

/// What a task is computed of but for its questions: weights, precision, layout, window and tokenizer. A copy of a
/// checkpoint is the same model wherever it lies.
Json facts_of(const FoundModel& model, const Tokenizer& tokenizer);

/// The same without the tokenizer: of data that are scored where none is at hand.
Json facts_of(const FoundModel& model);

}  // namespace octet::evaluate
