// octet: the toolkit around a training run, one subcommand a file in jobs/octet/.
#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "checkpoints/format/file_locks.h"
#include "jobs/octet/commands.h"
#include "jobs/version.h"
#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/reason.h"
#include "src/base/size_limit.h"
#include "src/cluster/machine/running_program.h"

namespace octet {
namespace {

void print_help() {
  fmt::print("octet {}: tools around float8 pre-training of Llama models\n\nusage: octet COMMAND [OPTIONS]\n\n",
             OCTET_VERSION);
  for (const Command& command : commands()) fmt::print("  {:<10} {}\n", command.name, command.help);
  fmt::print(
      "\n\"octet COMMAND --help\" or \"octet help COMMAND\" explains a command, \"octet --version\" says what this "
      "is.\n"
      "Training itself is octet-train, evaluating models is octet-evaluate, measuring collectives is\n"
      "octet-commbench. Exit codes: 0; 1 of checkpoint diff where two differ; 64 for a wrong command or input, 70 "
      "when\n"
      "the machine failed it (a full disk), 76 when something is unhealthy.\n");
}

/// `octet help tune fit` is `octet tune fit --help`.
int help_of(std::vector<std::string> words) {
  const std::string name = words.front();
  words.erase(words.begin());
  words.emplace_back("--help");
  for (const Command& command : commands()) {
    if (command.name == name) return command.run(words);
  }
  throw usage_error("octet", "help {}: there is no such command{}; \"octet --help\" lists all", name,
                    nearest_command(name));
}

int dispatch(int argc, char** argv) {
  const std::string_view name = argc > 1 ? argv[1] : "";
  if (name.empty()) throw usage_error("octet", "which command? \"octet --help\" lists them");
  const std::vector<std::string> rest(argv + 2, argv + argc);
  if (name == "help" && !rest.empty()) return help_of(rest);
  if (name == "--help" || name == "-h" || name == "help") {
    print_help();
    return 0;
  }
  if (name == "--version") {
    fmt::print("{}", version_text("octet"));
    return 0;
  }
  for (const Command& command : commands()) {
    if (command.name == name) return command.run(rest);
  }
  throw usage_error("octet", "unknown command \"{}\"{}; \"octet --help\" lists all", name, nearest_command(name));
}

}  // namespace
}  // namespace octet

int main(int argc, char** argv) {
  octet::take_size_limits_as_errors();
  octet::checkpoint::turn_file_locks_off();
  octet::end_programs_with_us();
  return octet::end_with_reason("octet", [&] { return octet::log::after_output(octet::dispatch(argc, argv)); });
}
