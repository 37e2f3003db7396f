#include "jobs/train/usage.h"

#include "jobs/dry_run/dry_run_options.h"
#include "src/base/error.h"
#include "src/base/options/document.h"
#include "src/base/options/text.h"
#include "src/run_config/options/run_options.h"

namespace octet {
namespace {

constexpr std::string_view start =
    "Trains a Llama. Ranks are started by MPI, one for each GPU, or for some cores where there is none.\n\n"
    "Usage: octet-train [CONFIG.yaml] [--section.key VALUE | --section.key=VALUE]...\n\n"
    "  mpiexec -n 4 octet-train configs/runs/english-5m.yaml            four ranks on this machine\n"
    "  srun --mpi=pmi2 octet-train RUN.yaml --device cuda               within an allocation of Slurm\n"
    "  octet-train RUN.yaml --precision float8 --print-config           what a run would be, checked\n"
    "  octet-train RUN.yaml --dry-run --ranks 512 --cluster aws-p5-efa  its memory, traffic and time, on no GPU\n"
    "octet submit writes the job of a whole run for Slurm.\n\n"
    "  -h, --help [TOPIC]  this text; an option, the options of a section, of dry-run, or all of them\n"
    "  --version           commit, build and libraries\n"
    "  --print-config      the resolved configuration as YAML, after all checks that need no ranks\n"
    "  --print-reference   all options as Markdown (docs/configuration.md)\n"
    "  --dry-run           memory plan, collectives and timeline of a rank; no MPI, no data and no device\n";

constexpr std::string_view exit_codes =
    "\nExit codes (docs/run-directories.md):\n"
    "    0  finished\n"
    "   64  the command, the configuration or the data is wrong; the message says what was expected\n"
    "   70  the machine failed the run, as a full disk does, or an internal error\n"
    "   71  a rank was lost, or a deadline passed\n"
    "   75  stopped early with a checkpoint; the same command goes on from there\n"
    "   76  a health check failed\n"
    "   77  a loss, a gradient or something in the last step was not finite\n"
    "  130, 143  stopped by SIGINT, or by something else, with nothing saved\n";

}  // namespace

std::string usage_text() {
  RunConfig config;
  Schema schema;
  declare_options(schema, config);
  return std::string(start) + "\nThe options that most runs set; the command line overrides the file:\n" +
         section_help(schema, "") + "\nSections of options, each explained by --help SECTION:\n" +
         section_list(schema) + std::string(exit_codes);
}

std::string usage_text(const std::string& topic) {
  RunConfig config;
  Schema schema;
  declare_options(schema, config);
  if (topic == "dry-run") return dry_run_usage();
  if (topic == "all")
    return std::string(start) + "\n" + dry_run_usage() + "\n" + help_text(schema) + std::string(exit_codes);
  std::vector<std::string> topics = {"all", "dry-run"};
  for (const auto& section : schema.sections()) {
    if (section.name == topic && !topic.empty()) return section_help(schema, topic);
    if (!section.name.empty()) topics.push_back(section.name);
  }
  const std::string listed = joined(topics);
  std::vector<const Option*> named;  // by the full name, or by what stands behind its dot
  for (const Option& option : schema.options()) {
    if (option.name() == topic) return option_help(option);
    if (option.key() == topic) named.push_back(&option);
    topics.push_back(option.name());
  }
  if (named.size() == 1) return option_help(*named.front());
  std::string several;
  for (const Option* option : named) several += (several.empty() ? "; options of that name: " : ", ") + option->name();
  throw usage_error("config", "command line: --help {}: expected one of {}, or an option's name{}", topic, listed,
                    several.empty() ? nearest_hint(topic, topics) : several);
}

}  // namespace octet
