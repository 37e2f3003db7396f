#pragma once

#include <string>
#include <vector>

#include "jobs/run/command_line.h"

namespace octet {

/// What a command line with --dry-run prints: memory plan, collectives and timeline of one rank of the run, without
/// MPI, data or a device (src/train/plan/dry_run.h), or what `answer` (jobs/train/answers.h) says to another action
/// that it asks for. Writes the files that it is asked for. Throws usage errors.
std::string dry_run_text(const std::vector<std::string>& words, std::string (*answer)(const CommandLine&));

}  // namespace octet
