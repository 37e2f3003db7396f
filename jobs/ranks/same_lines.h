#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/comm/communicator.h"
#include "src/run_config/run_config.h"

namespace octet {

/// Each rank reads commands and files for itself, and what they say must be the same for all. Where the lines of some
/// ranks are others, all throw the same usage error, which has the first line that differs, and which ranks have which:
/// "[ranks] WHAT: node(s) a, 1 rank(s) (0): optimizer.lr = 0.001; node(s) b, ...". Collective over all ranks.
void require_same_lines(std::string_view what, std::vector<std::string> lines, Communicator& control);

/// A run's options, "optimizer.lr = 0.001" each. For the model stands its shape: its name may be a path, which may be
/// another one on each node.
std::vector<std::string> option_lines(RunConfig config);

}  // namespace octet
