#pragma once

#include <string>

#include "jobs/dry_run/dry_machine.h"
#include "jobs/dry_run/dry_run_command.h"

namespace octet {

// Lines of a dry run about one step. They write the files that are asked for; usage error where one cannot be written,
// or there is nothing to write into it.

/// The stages of a pipeline and their order; nothing where there is none.
std::string pipeline_lines(const DryCommand& command);
/// Collectives and timeline of the step after the first, which is like all that follow.
std::string step_text(const DryCommand& command, const DryMachine& machine);

}  // namespace octet
