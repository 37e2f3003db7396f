#include "jobs/octet/commands.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iostream>
#include <limits>
#include <typeinfo>

#include "src/base/error.h"
#include "src/base/options/arguments.h"
#include "src/base/options/document.h"
#include "src/base/options/text.h"

namespace octet {
namespace po = boost::program_options;
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

/// "a whole number up to 2147483647" for such a type; empty for any other.
template <typename T>
std::string whole_number(const std::type_info& type) {
  return type == typeid(T) ? fmt::format("a whole number up to {}", std::numeric_limits<T>::max()) : "";
}

/// What an option takes, for the message about a value that it does not take.
std::string kind_of(const po::option_description* option) {
  const auto* typed = option ? dynamic_cast<const po::typed_value_base*>(option->semantic().get()) : nullptr;
  const std::type_info& type = typed ? typed->value_type() : typeid(void);
  if (type == typeid(double)) return "a number";
  const std::string whole = whole_number<std::int32_t>(type) + whole_number<std::int64_t>(type) +
                            whole_number<std::uint32_t>(type) + whole_number<std::uint64_t>(type);
  return whole.empty() ? "another value" : whole;
}

/// The line that says how the command is called, and what says more.
std::string call_of(std::string_view usage) {
  return fmt::format("{} (--help explains it)", usage.substr(0, usage.find('\n')));
}

/// Boost's error as Octet's: an argument without a name is asked for by the usage line, a mistyped option has the
/// nearest one named, and a value has what was expected.
Error told(const po::error& error, std::string_view usage, const po::options_description& options,
           std::string_view positional) {
  if (const auto* missing = dynamic_cast<const po::required_option*>(&error)) {
    const std::string name = missing->get_option_name();
    return usage_error("octet", "{} is missing; {}", name == fmt::format("--{}", positional) ? "what to work on" : name,
                       call_of(usage));
  }
  if (const auto* unknown = dynamic_cast<const po::unknown_option*>(&error)) {
    std::vector<std::string> names;
    for (const auto& option : options.options()) names.push_back(option->long_name());
    const std::string word = unknown->get_option_name();
    const std::string name = word.substr(std::min(word.size(), word.find_first_not_of('-')));
    return usage_error("octet", "unknown option {}{} (--help lists all)", word, nearest_hint(name, names, "--"));
  }
  if (const auto* value = dynamic_cast<const po::validation_error*>(&error)) {
    const std::string name = value->get_option_name();
    const auto* option = options.find_nothrow(name.substr(std::min(name.size(), name.find_first_not_of('-'))), false);
    return usage_error("octet", "{}; expected {} (--help explains it)", error.what(), kind_of(option));
  }
  return usage_error("octet", "{}; --help lists the options", error.what());
}

/// Makes the words that belong to no option values of the positional one. Usage error for one that is too many; -1:
/// there may be any number.
void place_words(po::parsed_options& parsed, const char* positional, int most, std::string_view usage) {
  int words = 0;
  for (po::option& option : parsed.options) {
    if (option.position_key < 0) continue;
    if (words++ == most) {
      throw usage_error("octet", "{} is one word too many; {}", in_quotes(option.value.front()), call_of(usage));
    }
    option.string_key = positional;
  }
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
    if (!option.is_required() || option.is_set()) continue;
    const bool is_positional = option.name() == positional;
    throw usage_error("octet", "{} is missing; {}", is_positional ? "what to work on" : "--" + option.name(), call);
  }
  return true;
}

std::optional<po::variables_map> parse_words(const std::vector<std::string>& arguments, std::string_view usage,
                                             po::options_description options, const char* positional,
                                             int max_positional) {
  options.add_options()("help,h", "print this text");
  // Whole names only: a guessed abbreviation would change its meaning when an option is added.
  const int style = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;
  po::variables_map values;
  try {
    po::parsed_options parsed = po::command_line_parser(arguments).options(options).style(style).run();
    place_words(parsed, positional, max_positional, usage);
    po::store(parsed, values);
    if (values.contains("help")) {
      std::cout << usage << "\n" << options;
      return std::nullopt;
    }
    po::notify(values);
  } catch (const po::error& error) {
    throw told(error, usage, options, positional);
  }
  return values;
}

}  // namespace octet
