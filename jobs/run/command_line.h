#pragma once

#include <string>
#include <vector>

#include "src/base/options/schema.h"
#include "src/run_config/run_config.h"

namespace octet {

/// What octet-train was asked to do.
struct CommandLine {
  enum class Action { run, help, print_config, print_reference };

  Action action = Action::run;
  std::string help_topic;  ///< of --help; empty: none
  RunConfig config;        ///< resolved and validated, for run and print_config
  std::string config_file;
  Origins origins;  ///< for messages of later checks (laid_out)
};

/// The words without a value of such a command.
inline const std::vector<std::string> command_line_flags = {"help", "print-config", "print-reference"};

/// `octet-train [CONFIG.yaml] [--section.key VALUE]... [-h | --help [TOPIC] | --print-config | --print-reference]`.
/// Defaults, then the file, then the command line. Throws usage errors.
CommandLine parse_command_line(int argc, const char* const* argv);

}  // namespace octet
