// octet checkpoint: looks at checkpoints, checks and changes them; one subcommand a file.
#include <fmt/format.h>

#include <array>

#include "jobs/octet/checkpoint/tool.h"
#include "jobs/octet/commands.h"
#include "src/base/error.h"
#include "src/base/options/text.h"

namespace octet {
namespace {

constexpr std::array table{
    Command{"list", "the checkpoints of a run: step, time, size, loss, state", tool::run_list},
    Command{"show", "what a checkpoint holds: state, layout, tensors, files, configuration", tool::run_show},
    Command{"verify", "read every byte and compare it with the manifest", tool::run_verify},
    Command{"diff", "compare two checkpoints tensor by tensor", tool::run_diff},
    Command{"reshard", "copy a checkpoint for another number of writers", tool::run_reshard},
    Command{"prune", "remove old checkpoints of a run", tool::run_prune},
    Command{"export", "weights to a Hugging Face Llama directory", tool::run_export},
    Command{"import", "a checkpoint of step 0 from a Hugging Face Llama directory", tool::run_import},
    Command{"view", "write view.h5, which shows tensors whole to h5py and HDFView", tool::run_view},
};

void print_help() {
  fmt::print("usage: octet checkpoint COMMAND [OPTIONS]\n\n");
  for (const Command& command : table) fmt::print("  {:<10} {}\n", command.name, command.help);
  fmt::print(
      "\n\"octet checkpoint COMMAND --help\" explains a command. Where a CHECKPOINT is asked for, a run's folder "
      "stands\n"
      "for its newest one.\n");
}

}  // namespace

int run_checkpoint(const std::vector<std::string>& arguments) {
  const std::string name = arguments.empty() ? "" : arguments.front();
  if (name.empty()) throw usage_error("octet", "checkpoint: which command? \"octet checkpoint --help\" lists them");
  if (name == "--help" || name == "-h" || name == "help") {
    print_help();
    return 0;
  }
  std::vector<std::string> names;
  for (const Command& command : table) {
    if (command.name == name) return command.run({arguments.begin() + 1, arguments.end()});
    names.emplace_back(command.name);
  }
  throw usage_error("octet",
                    "checkpoint: unknown command \"{}\"; did you mean \"{}\"? \"octet checkpoint --help\" lists all",
                    name, nearest(name, names));
}

}  // namespace octet
