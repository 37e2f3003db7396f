#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "jobs/ranks/same_build.h"

namespace octet {

/// What --version prints: the program with its commit, how it was built, what it can compute on, and its libraries,
/// those that are read when it starts by the versions that this machine has. The line "devices" is for scripts too:
/// "cpu" or "cpu, cuda ...". Any time, before MPI comes up as well.
std::string version_text(std::string_view program);

/// What this program was built from.
Build this_build();

/// Whether a command line has --version, which is answered before anything else is read.
bool asks_for_version(const std::vector<std::string>& words);

}  // namespace octet
