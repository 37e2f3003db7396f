#pragma once

#include <string>
#include <vector>

namespace octet {

/// The command, for a shell in the folder where this one was given, that goes on with this run: octet submit where the
/// job's script started it, else the launcher of so many ranks before `words`, the program and its arguments, with the
/// run's directory where neither they nor the configuration named one (`run_dir` is empty then).
std::string resuming_command(const std::vector<std::string>& words, int ranks, const std::string& run_dir,
                             const std::string& directory);

}  // namespace octet
