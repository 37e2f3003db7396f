#include "jobs/octet/submit/submit_options.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "jobs/octet/submit/run_record.h"
#include "jobs/octet/submit/which_run.h"
#include "jobs/run/distribute.h"
#include "src/base/log.h"
#include "src/base/options/arguments.h"
#include "src/base/options/document.h"
#include "src/base/options/text.h"
#include "src/cluster/host_list.h"
#include "src/run_config/options/run_options.h"

namespace octet::submit {
namespace {

const std::vector<std::string> flags = {"help", "print-profile", "print-environment", "print-reference"};

void declare(Schema& schema, SubmitOptions& o) {
  schema.add("cluster", o.cluster).help("Name of a profile under configs/clusters, or path of one.");
  schema.add("nodes", o.nodes).letter('N').required().between(1, 65536).help("Nodes to train on.");
  schema.add("spares", o.spares)
      .between(0, 65536)
      .help("Further nodes of the allocation, which take the place of lost ones.");
  schema.add("time", o.time)
      .letter('t')
      .help("Time limit of a job, in one of sbatch's forms except UNLIMITED; default: the profile's.");
  schema.add("chain", o.chain).between(1, 1000).help("Jobs of this run, one after the other.");
  schema.add("exclude", o.exclude).letter('x').help("Nodes not to be used: n[1-3],m7.");
  schema.add("after", o.after).help("Start after this job has ended.");
  schema.add("account", o.account).letter('A').help("Who pays; slurm.account of the profile by default.");
  schema.add("partition", o.partition).letter('p').help("Which nodes; slurm.partition by default.");
  schema.add("qos", o.qos).letter('q').help("Which limits; slurm.qos by default.");
  schema.add("constraint", o.constraint).letter('C').help("Features of nodes; slurm.constraint by default.");
  schema.add("reservation", o.reservation).help("A reservation of nodes; slurm.reservation by default.");
  schema.add("mail-user", o.mail_user).help("Whom Slurm writes to; slurm.mail_user by default.");
  schema.add("mail-type", o.mail_type).help("Of what Slurm writes, such as END,FAIL; slurm.mail_type by default.");
  schema.add_flag("dry-run", o.dry_run).help("Print every file that would be written, and write nothing.");
  schema.add_flag("hold", o.hold).letter('H').help("Submit, but do not start before scontrol release.");
  schema.add("slurm-version", o.slurm_version)
      .help("Write the script for this release of Slurm, such as 24.05; default: what sbatch says.");
}

/// What stands for a key of the profile, beside --cluster.KEY of the same.
void add_overrides(const SubmitOptions& o, ProfileOverrides& overrides) {
  const std::array<std::pair<std::string, const std::string*>, 7> pairs{{{"account", &o.account},
                                                                         {"partition", &o.partition},
                                                                         {"qos", &o.qos},
                                                                         {"constraint", &o.constraint},
                                                                         {"reservation", &o.reservation},
                                                                         {"mail_user", &o.mail_user},
                                                                         {"mail_type", &o.mail_type}}};
  for (const auto& [name, value] : pairs) {
    if (value->empty()) continue;
    const std::string key = "slurm." + name;
    if (std::ranges::count(overrides, key, &std::pair<std::string, std::string>::first) > 0) {
      throw usage_error("config", "command line: {} and --cluster.{} say the same, expected one of them",
                        in_quotes(*value), key);
    }
    overrides.emplace_back(key, *value);
  }
}

/// The directory of a run that was submitted says on which cluster and how many nodes, where the command does not: as
/// its last job had them.
void take_from_last_job(const std::string& run_dir, bool says_spares, SubmitOptions& o) {
  const bool says_nodes = o.nodes > 0;
  if (!o.cluster.empty() && says_nodes) return;
  const std::vector<JobRecord> jobs = recorded_jobs(run_dir);
  std::error_code error;
  const std::string profile = run_dir + "/cluster.yaml";
  if (jobs.empty() || !std::filesystem::is_regular_file(profile, error)) return;
  const JobRecord& last = jobs.back();
  if (!says_nodes) o.nodes = last.nodes;
  if (!says_nodes && !says_spares) o.spares = last.spares;
  log::info("as job {} of this run: {} nodes{} of {}", last.id, o.nodes,
            o.spares > 0 ? fmt::format(" and {} spares", o.spares) : "", o.cluster.empty() ? last.cluster : o.cluster);
  if (!o.cluster.empty()) return;
  o.cluster = profile;
  struct stat found {};
  if (::stat(profile.c_str(), &found) == 0 && found.st_uid != ::geteuid()) {
    log::warning("{} belongs to user {}, and the job runs its prolog as you: read it, or name a profile with --cluster",
                 profile, found.st_uid);
  }
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

SubmitCommand parse_submit(const std::vector<std::string>& given) {
  SubmitCommand out;
  Schema schema;
  declare(schema, out.options);
  std::vector<std::string> arguments = with_long_names(schema, given);
  arguments.insert(arguments.begin(), "octet submit");
  out.profile_overrides = take_profile_overrides(arguments);
  WordsByOwner words = distribute(
      arguments, {.schema = schema, .flags = flags, .help = "octet submit --help and octet-train --help list all"});
  const Arguments own = parse_arguments(schema, flags, static_cast<int>(words.own.size()), words.own.data());
  apply(own, schema);
  add_overrides(out.options, out.profile_overrides);
  if (own.has("help"))
    out.action = SubmitCommand::Action::help;
  else if (own.has("print-reference"))
    out.action = SubmitCommand::Action::print_reference;
  else if (own.has("print-profile"))
    out.action = SubmitCommand::Action::print_profile;
  else if (own.has("print-environment"))
    out.action = SubmitCommand::Action::print_environment;
  if (out.action != SubmitCommand::Action::submit) return out;

  RunConfig ignored;
  Schema run;
  declare_options(run, ignored);
  const Arguments asked = parse_arguments(run, {}, static_cast<int>(words.run.size()), words.run.data());
  if (names_directory(asked.file)) take_from_last_job(asked.file, schema.find("spares")->is_set(), out.options);
  check(out.options);
  const std::string resolved = run_file(asked.file);
  if (words.file > 0) words.run[words.file] = resolved.c_str();
  out.run = parse_command_line(static_cast<int>(words.run.size()), words.run.data());
  const bool says_where =
      std::ranges::count(asked.overrides, "run.dir", &std::pair<std::string, std::string>::first) > 0;
  if (!says_where) settle_directory(asked.file, out.run);
  return out;
}

std::string submit_usage() {
  SubmitOptions options;
  Schema schema;
  declare(schema, options);
  return "Checks a run, writes its job script and submits it to Slurm.\n\n"
         "usage: octet submit RUN.yaml --cluster NAME --nodes N [OPTIONS]\n"
         "       octet submit RUN_DIR [OPTIONS]             cluster and nodes as its last job had them\n"
         "       octet submit status|cancel|logs RUN_DIR\n"
         "  -h, --help           this text\n"
         "  --print-profile      the cluster's profile, with all its defaults\n"
         "  --print-environment  what its jobs set, for a shell that measures: eval \"$(octet submit ...)\"\n"
         "  --print-reference    the keys of a profile as Markdown (docs/clusters.md)\n\n" +
         help_text(schema) +
         "\nOptions of octet-train (--section.key VALUE) change the run, --cluster.section.key VALUE the profile.\n"
         "Exit codes: 0; 64 for a wrong command or run, and for what Slurm refuses; 70 when the machine failed it,\n"
         "or when Slurm does not answer status or cancel.\n";
}

}  // namespace octet::submit
