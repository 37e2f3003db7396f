#pragma once

#include <string>

#include "jobs/dry_run/dry_run_command.h"

namespace octet {

/// Memory plan, collectives and timeline of one rank of the run, without MPI, data or a device
/// (src/train/plan/dry_run.h): what is printed. Writes the files that it is asked for. Throws usage errors.
std::string dry_run_text(DryCommand command);

}  // namespace octet
