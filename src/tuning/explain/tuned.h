#pragma once

#include "src/tuning/explain/explanation.h"
#include "src/tuning/tuning_file.h"

namespace octet {

/// What a cluster's tuning file changes: its constants in NCCL's model (from 2.28 on, whose tuners can change them),
/// its choices in place of the model's, unless NCCL cannot run them, and fitted times in place of predicted ones
/// where its fits reach this collective, algorithm, protocol and shape (fit/predict.h). Usage error where the file was
/// written for another release than `question.version`.
Explanation explain(Question& question, const TuningFile& tuning);

}  // namespace octet
