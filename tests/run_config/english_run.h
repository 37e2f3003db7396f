#pragma once

#include <string>
#include <utility>
#include <vector>

#include "src/run_config/checks/read_run_config.h"

namespace octet {

/// The run of configs/runs/english-5m.yaml, with these options (name, value) of a command line.
inline RunConfig english_run(const std::vector<std::pair<std::string, std::string>>& options = {}) {
  Arguments arguments;
  arguments.file = OCTET_SOURCE_DIR "/configs/runs/english-5m.yaml";
  arguments.overrides = options;
  Origins origins;
  return read_run_config(arguments, origins);
}

}  // namespace octet
