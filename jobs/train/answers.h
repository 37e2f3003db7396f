#pragma once

#include <string>

#include "jobs/run/command_line.h"

namespace octet {

/// What octet-train prints where it is asked for something else than to `run`, as it stands: with its last newline.
std::string answer(const CommandLine& command_line);

}  // namespace octet
