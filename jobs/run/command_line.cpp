#include "jobs/run/command_line.h"

#include "src/base/options/arguments.h"
#include "src/run_config/checks/read_run_config.h"
#include "src/run_config/options/run_options.h"

namespace octet {

namespace {

/// Takes `-h`, `--help` and `--help TOPIC` out of the words; the topic goes to `out`.
std::vector<const char*> without_help(int argc, const char* const* argv, CommandLine& out) {
  std::vector<const char*> rest;
  for (int i = 0; i < argc; ++i) {
    const std::string_view word = argv[i];
    constexpr std::string_view with_topic = "--help=";
    const bool asks = word == "-h" || word == "--help" || word.starts_with(with_topic);
    if (i == 0 || !asks) {
      rest.push_back(argv[i]);
      continue;
    }
    out.action = CommandLine::Action::help;
    if (word.starts_with(with_topic)) {
      out.help_topic = word.substr(with_topic.size());
      continue;
    }
    const bool has_topic = i + 1 < argc && argv[i + 1][0] != '-' && !std::string_view(argv[i + 1]).ends_with(".yaml");
    if (has_topic) out.help_topic = argv[++i];
  }
  return rest;
}

}  // namespace

CommandLine parse_command_line(int argc, const char* const* argv) {
  CommandLine out;
  const std::vector<const char*> words = without_help(argc, argv, out);
  Schema schema;
  RunConfig defaults;
  declare_options(schema, defaults);
  const Arguments arguments = parse_arguments(schema, command_line_flags, static_cast<int>(words.size()), words.data());
  if (arguments.flags.size() > 1) {
    throw usage_error("config", "command line: --{} and --{} together, expected one of them", *arguments.flags.begin(),
                      *arguments.flags.rbegin());
  }
  const bool help = out.action == CommandLine::Action::help;
  if (help && !arguments.flags.empty()) {
    throw usage_error("config", "command line: --help and --{} together, expected one of them",
                      *arguments.flags.begin());
  }
  if (arguments.has("print-reference")) out.action = CommandLine::Action::print_reference;
  if (arguments.has("print-config")) out.action = CommandLine::Action::print_config;
  if (help || arguments.has("print-reference")) return out;

  out.config_file = arguments.file;
  out.config = read_run_config(arguments, out.origins);
  return out;
}

}  // namespace octet
