#pragma once

#include <string>

#include "jobs/run/command_line.h"

namespace octet::submit {

// What `octet submit WORD` means by its word: the YAML file of a run, or the directory of one that was submitted.

bool names_directory(const std::string& word);

/// The run's YAML file: of a directory, what its first submission left there. Usage error for one without.
std::string run_file(const std::string& word);

/// For a run whose run.dir the command does not say: it trains in the directory that was named, or where the file says.
/// A warning tells where a submitted.yaml says another directory than it stands in, which was renamed or copied then.
void settle_directory(const std::string& word, CommandLine& run);

}  // namespace octet::submit
