#pragma once

#include <string>
#include <vector>

namespace octet {

/// Says whether a command line asks for a dry run.
bool asks_for_dry_run(const std::vector<std::string>& words);

/// Memory plan, collectives and timeline of one rank of the run, without MPI, data or a device
/// (src/train/plan/dry_run.h): what is printed. Writes the files that it is asked for. Throws usage errors.
std::string dry_run(const std::vector<std::string>& words);

/// Prints it; what is wrong goes to the log. Returns the exit code.
int dry_run_main(const std::vector<std::string>& words);

}  // namespace octet
