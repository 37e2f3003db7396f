#include "jobs/octet/submit/submit_options.h"

#include <algorithm>
#include <filesystem>

#include "src/base/options/arguments.h"
#include "src/base/options/document.h"
#include "src/base/options/text.h"
#include "src/base/options/yaml.h"
#include "src/cluster/host_list.h"
#include "src/train/options/run_options.h"

namespace octet::submit {
namespace {

const std::vector<std::string> flags = {"help", "dry-run", "hold", "print-profile", "print-reference"};
constexpr std::string_view profile_prefix = "cluster.";

void declare(Schema& schema, SubmitOptions& o) {
  schema.add("cluster", o.cluster).help("Name of a profile under configs/clusters, or path of one.");
  schema.add("nodes", o.nodes).at_least(1).at_most(65536).help("Nodes to train on.");
  schema.add("spares", o.spares)
      .at_least(0)
      .at_most(65536)
      .help("Further nodes of the allocation, which take the place of lost ones.");
  schema.add("time", o.time).help("Time limit of a job, in sbatch's forms; default: the profile's.");
  schema.add("chain", o.chain).at_least(1).at_most(1000).help("Jobs of this run, one after the other.");
  schema.add("exclude", o.exclude).help("Nodes not to be used: n[1-3],m7.");
  schema.add("after", o.after).help("Start after this job has ended.");
  schema.add("slurm-version", o.slurm_version)
      .help("Write the script for this release of Slurm, such as 24.05; default: what sbatch says.");
}

/// The words of a command line by whom they are for.
struct Words {
  std::vector<const char*> own = {"octet submit"}, run = {"octet submit"};
  std::vector<std::pair<std::string, std::string>> profile;
};

Error unknown_option(const std::string& word, const std::string& name, const std::vector<std::string>& own,
                     const std::vector<std::string>& run) {
  std::vector<std::string> known = own;
  known.insert(known.end(), flags.begin(), flags.end());
  known.insert(known.end(), run.begin(), run.end());
  return usage_error(
      "config", "command line: unknown option {}; nearest: --{} (octet submit --help and octet-train --help list all)",
      word, nearest(name, known));
}

Words distribute(const Schema& own, const Schema& run, const std::vector<std::string>& arguments) {
  const std::vector<std::string> names = own.names(), run_names = run.names();
  Words out;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    const bool is_option = word.starts_with("--");
    const std::size_t equals = word.find('=');
    const std::string name = is_option ? word.substr(2, equals == std::string::npos ? equals : equals - 2) : "";
    const bool is_flag = std::ranges::find(flags, name) != flags.end();
    const bool takes_next = is_option && !is_flag && equals == std::string::npos && i + 1 < arguments.size() &&
                            !arguments[i + 1].starts_with("--");
    if (name.starts_with(profile_prefix)) {
      if (equals == std::string::npos && !takes_next) {
        throw usage_error("config", "command line: the value of {} is missing", word);
      }
      out.profile.emplace_back(name.substr(profile_prefix.size()),
                               takes_next ? arguments[++i] : word.substr(equals + 1));
      continue;
    }
    const bool is_own = is_flag || std::ranges::find(names, name) != names.end();
    if (is_option && !is_own && std::ranges::find(run_names, name) == run_names.end()) {
      throw unknown_option(word, name, names, run_names);
    }
    auto& words = is_own ? out.own : out.run;
    words.push_back(word.c_str());
    if (takes_next) words.push_back(arguments[++i].c_str());
  }
  return out;
}

/// A run directory stands for the file that its first submission left there.
std::string run_file(const std::string& word) {
  std::error_code error;
  if (!std::filesystem::is_directory(word, error)) return word;
  std::string file = word + "/submitted.yaml";
  if (std::filesystem::is_regular_file(file, error)) return file;
  throw usage_error(
      "submit",
      "{}: is a folder without submitted.yaml, expected a run's YAML file or the directory of a run that was submitted",
      word);
}

void check(const SubmitOptions& o) {
  if (o.cluster.empty()) throw usage_error("submit", "which cluster? --cluster NAME (octet submit --help)");
  if (o.nodes == 0) throw usage_error("submit", "how many nodes? --nodes N");
  expand_hosts(o.exclude);
  if (!o.after.empty() && o.after.find_first_not_of("0123456789_") != std::string::npos) {
    throw usage_error("submit", "--after {}: expected the number of a job", in_quotes(o.after));
  }
}

}  // namespace

SubmitCommand parse_submit(const std::vector<std::string>& arguments) {
  SubmitCommand out;
  Schema schema;
  declare(schema, out.options);
  RunConfig ignored;
  Schema run;
  declare_options(run, ignored);
  Words words = distribute(schema, run, arguments);
  const Arguments own = parse_arguments(schema, flags, static_cast<int>(words.own.size()), words.own.data());
  for (const auto& [name, value] : own.overrides) read_argument(*schema.find(name), value);
  out.options.dry_run = own.has("dry-run");
  out.options.hold = own.has("hold");
  out.profile_overrides = std::move(words.profile);
  if (own.has("help"))
    out.action = SubmitCommand::Action::help;
  else if (own.has("print-reference"))
    out.action = SubmitCommand::Action::print_reference;
  else if (own.has("print-profile"))
    out.action = SubmitCommand::Action::print_profile;
  if (out.action != SubmitCommand::Action::submit) return out;

  check(out.options);
  const std::string file = parse_arguments(run, {}, static_cast<int>(words.run.size()), words.run.data()).file;
  const std::string resolved = file.empty() ? "" : run_file(file);
  std::ranges::replace_if(
      words.run, [&](const char* word) { return !file.empty() && word == file; }, resolved.c_str());
  out.run = parse_command_line(static_cast<int>(words.run.size()), words.run.data());
  return out;
}

std::string submit_usage() {
  SubmitOptions options;
  Schema schema;
  declare(schema, options);
  return "Checks a run, writes its job script and submits it to Slurm.\n\n"
         "usage: octet submit RUN.yaml|RUN_DIR --cluster NAME --nodes N [OPTIONS]\n"
         "       octet submit status|cancel|logs RUN_DIR\n"
         "  --dry-run          print the job script and write nothing\n"
         "  --hold             submit, but do not start before scontrol release\n"
         "  --print-profile    the cluster's profile, with all its defaults\n"
         "  --print-reference  the keys of a profile as Markdown (docs/clusters.md)\n\n" +
         help_text(schema) +
         "\nOptions of octet-train (--section.key VALUE) change the run, --cluster.section.key VALUE the profile.\n";
}

}  // namespace octet::submit
