#pragma once

#include "jobs/octet/submit/submitted_run.h"

namespace octet::submit {

/// Prints what the run's directory says of its training: who owns it, status.json as far as the owner is there, the
/// last line of metrics.jsonl and how long ago it was logged, and of a run that trains how long its other steps take.
/// What a file does not say yet is told as that; a line that cannot be read is a warning.
void print_standing(const SubmittedRun& run);

}  // namespace octet::submit
