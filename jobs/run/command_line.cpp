#include "jobs/run/command_line.h"

#include "src/base/options/arguments.h"
#include "src/base/options/document.h"
#include "src/train/options/model_file.h"
#include "src/train/options/run_options.h"
#include "src/train/options/validate.h"

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
  declare_options(schema, out.config);
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

  apply(arguments, schema);
  out.config_file = arguments.file;
  schema.check_required(arguments.file.empty() ? "command line" : arguments.file, true);
  out.origins = schema.origins();
  if (out.config.data.train.empty()) {
    throw usage_error("config", "{}: data.train = []: expected at least one path", out.origins.at("data.train"));
  }
  out.config.data.origin = out.origins.at("data.train");
  resolve_model(out.config, out.config_file, out.origins.at("model"));
  validate(out.config, out.origins);
  return out;
}

}  // namespace octet
