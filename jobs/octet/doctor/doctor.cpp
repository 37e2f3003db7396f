#include "jobs/octet/doctor/doctor.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>

#include "jobs/octet/commands.h"
#include "src/base/error.h"
#include "src/base/log.h"
#include "src/cluster/doctor/nccl_library.h"
#include "src/cluster/doctor/node_report.h"
#include "src/cluster/environment/conf_file.h"
#include "src/cluster/environment/job_findings.h"
#include "src/cluster/environment/named_files.h"
#include "src/cluster/machine/known_versions.h"

namespace octet {
namespace {

constexpr std::string_view doctor_usage =
    "usage: octet doctor [OPTIONS]\n\n"
    "Looks at this node and says what would make training fail or go slow: GPUs, NVLink, network cards, PCIe, "
    "versions,\n"
    "limits, clock, MPI under Slurm, the file system of the run directory. It changes nothing, needs no MPI and takes\n"
    "seconds. With --cluster the node is held against a cluster's profile: what that has and the node has not is bad,\n"
    "and \"not present\" otherwise. Exit code 0 where nothing is bad, else 76.\n"
    "With --env: explains each variable of NCCL, UCX, MPICH and libfabric that is set, and warns of those that are\n"
    "unknown, out of range, without effect or dangerous; with --cluster also of those that its job does not set.\n"
    "With --allocation: all nodes of a job in one table, and what they do not have in common.\n";

struct Options {
  std::string profile, root = "/", run_dir, allocation, nccl;
  ProfileOverrides overrides;
  bool json = false, env = false;
  int wait_seconds = 120;
};

/// Nothing after --help.
std::optional<Options> parse(const std::vector<std::string>& arguments) {
  Options o;
  Schema schema;
  schema.add("cluster", o.profile)
      .help(
          "What the node should be: a name under configs/clusters, or a file; --profile is its old name. "
          "--cluster.section.key VALUE changes a key of it.");
  schema.add_flag("json", o.json).help("One JSON object on one line.");
  schema.add_flag("env", o.env).help("Explain the environment variables instead.");
  schema.add("nccl", o.nccl).help("With --env: the release of NCCL that will run; default: the one found here.");
  schema.add("run-dir", o.run_dir).help("Check the file system of this folder; default: the current one.");
  schema.add("root", o.root).help("Look at a snapshot of a machine in this folder instead.");
  schema.add("allocation", o.allocation)
      .help(
          "A folder that all nodes see. Under srun, one task a node: each writes NODE.json there, and the first prints "
          "the table. Elsewhere: the table of the files that are there.");
  schema.add("wait", o.wait_seconds)
      .unit("s")
      .at_least(1)
      .help("With --allocation under srun: how long to wait for the other nodes.");
  std::vector<std::string> words = arguments;
  o.overrides = take_profile_overrides(words);
  for (std::string& word : words) {
    if (word == "--profile" || word.starts_with("--profile=")) word.replace(2, 7, "cluster");
  }
  if (!parse_words(words, doctor_usage, schema)) return std::nullopt;
  check_overrides(o.profile, o.overrides);
  if (o.env && !o.allocation.empty()) throw usage_error("octet", "--env and --allocation exclude each other");
  if (!o.nccl.empty() && !o.env) throw usage_error("octet", "--nccl needs --env");
  const Version nccl = parse_version(o.nccl);
  if (!o.nccl.empty() && (nccl.size() < 2 || to_text(nccl) != o.nccl)) {
    throw usage_error("octet", "--nccl {}: expected a release, as 2.28.9", o.nccl);
  }
  if (schema.find("wait")->is_set() && o.allocation.empty()) throw usage_error("octet", "--wait needs --allocation");
  return o;
}

int exit_code(bool is_healthy) {
  return static_cast<int>(is_healthy ? ExitCode::finished : ExitCode::unhealthy);
}

void print_summary(const Findings& findings) {
  const auto count = [&](FindingState s) { return std::ranges::count(findings, s, &Finding::state); };
  log::out("{} ok, {} warning, {} bad, {} not present", count(FindingState::ok), count(FindingState::warning),
           count(FindingState::bad), count(FindingState::absent));
}

std::string run_dir_of(const Options& o) {
  const std::string given = o.run_dir.empty() ? "." : o.run_dir;
  std::error_code error;
  const std::filesystem::path place = std::filesystem::weakly_canonical(given, error);
  if (error) throw usage_error("octet", "--run-dir {}: cannot be looked at: {}", given, error.message());
  return place;
}

/// Tells of the values that stand in NCCL's files in which.
void add_origins(const InheritedVariables& inherited, Findings& findings) {
  for (Finding& f : findings) {
    const std::string file = file_of(inherited, f.check);
    if (!file.empty()) f.advice += fmt::format("; this value is of {}", file);
  }
}

/// Puts findings in the place of those about the same variables.
void replace(Findings& findings, const Findings& by) {
  for (const Finding& one : by) {
    std::erase_if(findings, [&](const Finding& f) { return f.check == one.check; });
  }
  findings.insert(findings.end(), by.begin(), by.end());
  std::ranges::stable_sort(findings, {}, &Finding::check);
}

/// What the files say that variables name, and those of NCCL's variables.
void add_files(const Environment& environment, const Machine& machine, const ClusterProfile* profile,
               Findings& findings) {
  for (Finding& f : file_findings(environment, machine)) {
    std::erase_if(findings, [&](const Finding& one) { return one.check == f.check && one.state == FindingState::ok; });
    findings.push_back(std::move(f));
  }
  for (Finding& f : conf_file_findings(machine, own_conf_file(profile))) findings.push_back(std::move(f));
}

int explain_environment(const Options& o, const Machine& machine, const ClusterProfile* profile) {
  const std::string nccl = o.nccl.empty() ? find_nccl(machine).version : o.nccl;
  const InheritedVariables inherited = inherited_variables(machine, profile);
  const Environment environment = effective_environment(inherited);
  const LocalDevices devices = local_devices(machine);
  Findings findings = lint(read_variable_table(), environment, nccl, profile, &devices);
  add_origins(inherited, findings);
  if (profile != nullptr) replace(findings, inherited_findings(inherited, nccl, *profile, run_dir_of(o)));
  add_files(environment, machine, profile, findings);
  if (o.json) {
    log::out("{}", to_json({.node = machine.name(), .time = 0, .versions = {{"nccl", nccl}}, .findings = findings}));
    return exit_code(healthy(findings));
  }
  log::out("{} variables are set; NCCL {}", environment.size(),
           nccl.empty() ? "is not found: releases are not compared" : nccl);
  log::write_out(to_text(findings));
  print_summary(findings);
  return exit_code(healthy(findings));
}

}  // namespace

int run_doctor(const std::vector<std::string>& arguments) {
  const auto o = parse(arguments);
  if (!o) return 0;
  const Machine machine(o->root);
  std::optional<ClusterProfile> profile;
  if (!o->profile.empty()) profile = read_profile(o->profile, o->overrides);
  const ClusterProfile* expected = profile ? &*profile : nullptr;
  if (o->env) return explain_environment(*o, machine, expected);

  const Examination examination{machine, expected, run_dir_of(*o)};
  if (!o->allocation.empty()) return examine_allocation(o->allocation, o->json, o->wait_seconds, examination);

  const NodeReport report = examine_node(examination);
  if (o->json) {
    log::out("{}", to_json(report));
  } else {
    log::out("{}{}", report.node, profile ? fmt::format(", as {}", profile->name) : "");
    log::write_out(to_text(report.findings));
    print_summary(report.findings);
  }
  return exit_code(healthy(report.findings));
}

}  // namespace octet
