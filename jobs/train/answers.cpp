#include "jobs/train/answers.h"

#include "jobs/train/usage.h"
#include "src/run_config/options/run_options.h"

namespace octet {

std::string answer(const CommandLine& command_line) {
  switch (command_line.action) {
    case CommandLine::Action::help:
      return command_line.help_topic.empty() ? usage_text() : usage_text(command_line.help_topic);
    case CommandLine::Action::print_config:
      return to_yaml(command_line.config);
    case CommandLine::Action::print_reference:
      return reference_page();
    case CommandLine::Action::run:
      break;
  }
  return "";
}

}  // namespace octet
