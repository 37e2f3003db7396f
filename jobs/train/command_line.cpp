#include "jobs/train/command_line.h"

#include "jobs/train/dry_run_options.h"
#include "src/base/options/arguments.h"
#include "src/base/options/document.h"
#include "src/train/options/model_file.h"
#include "src/train/options/run_options.h"
#include "src/train/options/validate.h"

namespace octet {

CommandLine parse_command_line(int argc, const char* const* argv) {
  CommandLine out;
  Schema schema;
  declare_options(schema, out.config);
  const Arguments arguments = parse_arguments(schema, {"help", "print-config", "print-reference"}, argc, argv);
  if (arguments.flags.size() > 1) {
    throw usage_error("config", "command line: --{} and --{} together, expected one of them", *arguments.flags.begin(),
                      *arguments.flags.rbegin());
  }
  if (arguments.has("help")) out.action = CommandLine::Action::help;
  if (arguments.has("print-reference")) out.action = CommandLine::Action::print_reference;
  if (arguments.has("print-config")) out.action = CommandLine::Action::print_config;
  if (arguments.has("help") || arguments.has("print-reference")) return out;

  apply(arguments, schema);
  out.config_file = arguments.file;
  schema.check_required(arguments.file.empty() ? "command line" : arguments.file, true);
  out.origins = schema.origins();
  if (out.config.data.train.empty()) {
    throw usage_error("config", "{}: data.train = []: expected at least one path", out.origins.at("data.train"));
  }
  resolve_model(out.config, out.config_file, out.origins.at("model"));
  validate(out.config, out.origins);
  return out;
}

std::string usage_text() {
  RunConfig config;
  Schema schema;
  declare_options(schema, config);
  return "Trains a Llama. Ranks are started by MPI: mpiexec -n 4 octet-train configs/runs/english-5m.yaml\n\n"
         "Usage: octet-train [CONFIG.yaml] [--section.key VALUE | --section.key=VALUE]...\n"
         "  --help             this text\n"
         "  --print-config     the resolved configuration as YAML, after all checks that need no ranks\n"
         "  --print-reference  all options as Markdown (docs/configuration.md)\n" +
         dry_run_usage() + "\nOptions of the configuration; the command line overrides the file:\n" + help_text(schema);
}

std::string answer(const CommandLine& command_line) {
  switch (command_line.action) {
    case CommandLine::Action::help:
      return usage_text();
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
