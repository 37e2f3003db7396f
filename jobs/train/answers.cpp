#include "jobs/train/answers.h"

#include "jobs/dry_run/dry_run_text.h"
#include "jobs/train/usage.h"
#include "src/base/log.h"
#include "src/train/options/run_options.h"

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

std::string dry_run(const std::vector<std::string>& words) {
  DryCommand command = parse_dry_run(words);
  return command.run.action == CommandLine::Action::run ? dry_run_text(std::move(command)) : answer(command.run);
}

int dry_run_main(const std::vector<std::string>& words) {
  try {
    fmt::print("{}", dry_run(words));
    return log::after_output(0);
  } catch (const Error& error) {
    log::error("{}", error.what());
    return static_cast<int>(error.code());
  } catch (const std::exception& error) {
    log::error("[train] {}", error.what());
    return static_cast<int>(ExitCode::internal);
  }
}

}  // namespace octet
