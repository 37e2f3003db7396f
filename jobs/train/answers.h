#pragma once

#include <string>
#include <vector>

#include "jobs/run/command_line.h"

namespace octet {

// What octet-train says where it trains nothing.

/// What the actions other than `run` print, as it stands: with its last newline.
std::string answer(const CommandLine& command_line);

/// What a command line with --dry-run prints: the dry run (dry_run_text.h), or the answer to what else it asks for.
/// Writes the files that it is asked for. Throws usage errors.
std::string dry_run(const std::vector<std::string>& words);

/// Prints it; what is wrong goes to the log. Returns the exit code.
int dry_run_main(const std::vector<std::string>& words);

}  // namespace octet
