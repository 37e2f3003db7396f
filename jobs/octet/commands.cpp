#include "jobs/octet/commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "src/base/error.h"
#include "src/base/options/arguments.h"
#include "src/base/options/document.h"
#include "src/base/options/text.h"

namespace octet {
namespace {

constexpr std::array table{
    Command{"prepare", "text files to token files (Megatron .bin/.idx)", run_prepare},
    Command{"tokenizer", "make a tokenizer from texts, and show what one does", run_tokenizer},
    Command{"inspect", "what a token file holds: counts, text, entropies", run_inspect},
    Command{"job", "for job scripts: where and whether to start, and what comes next", run_job},
    Command{"report", "runs as one HTML page of plots", run_report},
    Command{"submit", "a run as a job of Slurm: check, write the script, submit, follow", run_submit},
    Command{"tune", "what collectives cost on a cluster: predict, measure, fit, and tune NCCL", run_tune},
    Command{"checkpoint", "list, check, compare, convert and remove checkpoints", run_checkpoint},
    Command{"generate", "text by a trained model, behind a prompt", run_generate},
    Command{"doctor", "what is wrong with a node, or with the environment variables of a job", run_doctor},
};

void print_group_help(std::string_view name, std::span<const Command> group, std::string_view closing) {
  fmt::print("usage: octet {} COMMAND [OPTIONS]\n\n", name);
  for (const Command& command : group) fmt::print("  {:<10} {}\n", command.name, command.help);
  fmt::print("\n\"octet {} COMMAND --help\" explains a command. {}\n", name, closing);
}

/// The line that says how the command is called, and what says more.
std::string call_of(std::string_view usage) {
  return fmt::format("{} (--help explains it)", usage.substr(0, usage.find('\n')));
}

/// Of an option that was given.
const std::string& first_value(const Arguments& given, const std::string& name) {
  return std::ranges::find(given.overrides, name, &std::pair<std::string, std::string>::first)->second;
}

}  // namespace

int run_group(std::string_view group, std::span<const Command> members, std::string_view closing,
              const std::vector<std::string>& arguments) {
  const std::string name = arguments.empty() ? "" : arguments.front();
  if (name.empty()) throw usage_error("octet", "{0}: which command? \"octet {0} --help\" lists them", group);
  std::vector<std::string> rest(arguments.begin() + 1, arguments.end());
  if (name == "help" && !rest.empty() && !rest.front().starts_with('-')) {  // `octet tune help fit`
    rest.emplace_back("--help");
    return run_group(group, members, closing, rest);
  }
  if (name == "--help" || name == "-h" || name == "help") {
    print_group_help(group, members, closing);
    return 0;
  }
  std::vector<std::string> names;
  for (const Command& command : members) {
    if (command.name == name) return command.run(rest);
    names.emplace_back(command.name);
  }
  throw usage_error("octet", "{0}: unknown command \"{1}\"{2}; \"octet {0} --help\" lists all", group, name,
                    nearest_hint(name, names));
}

std::span<const Command> commands() {
  return table;
}

std::string nearest_command(std::string_view name) {
  std::vector<std::string> names;
  names.reserve(std::size(table));
  for (const Command& command : table) names.emplace_back(command.name);
  return nearest_hint(name, names);
}

bool parse_words(const std::vector<std::string>& arguments, std::string_view usage, Schema& options,
                 const std::string& positional, int most) {
  std::vector<const char*> words{"octet"};
  for (const std::string& word : arguments) words.push_back(word.c_str());
  const std::string call = call_of(usage);
  const Arguments given = parse_arguments(options, {"help"}, static_cast<int>(words.size()), words.data(),
                                          {.hint = "; " + call, .option = positional, .most = most});
  if (given.has("help")) {
    fmt::print("{}\n{}  -h, --help\n      This text.\n", usage, help_text(options));
    return false;
  }
  apply_words(given, options);
  for (const Option& option : options.options()) {
    if (!option.is_required()) continue;
    const std::string name = option.name() == positional ? "what to work on" : "--" + option.name();
    if (!option.is_set()) throw usage_error("octet", "{} is missing; {}", name, call);
    // As "$RUN" is where the shell has no such variable. Later words may be texts, which may be empty.
    if (option.name() == positional && first_value(given, positional).empty()) {
      throw usage_error("octet", "{} is an empty word; {}", name, call);
    }
  }
  return true;
}

}  // namespace octet
