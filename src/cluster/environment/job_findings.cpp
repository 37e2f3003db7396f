#include "src/cluster/environment/job_findings.h"

#include <algorithm>

#include "src/cluster/environment/environment_lint.h"
#include "src/cluster/environment/job_environment.h"
#include "src/cluster/environment/pair_rules.h"

namespace octet {
namespace {

Environment as_environment(const std::vector<EnvironmentValue>& values) {
  Environment out;
  for (const EnvironmentValue& v : values) out[v.name] = v.value;
  return out;
}

/// Whether the training does not see this machine's files. With container.image octet itself is in the container where
/// it is a step; with software.container it never is.
bool is_apart(const Machine& machine, const ClusterProfile& p) {
  return !p.software.container.empty() || (!p.container.image.empty() && machine.variable("SLURM_STEP_ID").empty());
}

/// What there is to know of a value of one of NCCL's files.
std::string about_file(const std::string& file, bool of_host, bool is_unset) {
  const std::string has =
      of_host ? " of this host: training in a container has it only if the image or a mount brings that file"
              : ": a job has what that file says on its nodes";
  const std::string advice = is_unset  ? ", also where environment.variables unsets it: write a value there"
                             : of_host ? "; write it into environment.variables"
                                       : "";
  return fmt::format("; this value is of {}{}{}", file, has, advice);
}

}  // namespace

std::optional<std::string> own_conf_file(const ClusterProfile* profile) {
  if (profile == nullptr) return std::nullopt;
  const auto& variables = profile->environment.variables;
  const auto own = std::ranges::find(variables, "NCCL_CONF_FILE", &EnvironmentValue::name);
  return own == variables.end() ? std::nullopt : std::optional(own->unset ? "" : own->value);
}

InheritedVariables inherited_variables(const Machine& machine, const ClusterProfile* profile) {
  InheritedVariables out{.shell = {},
                         .files = conf_values(machine, own_conf_file(profile)),
                         .of_host = profile != nullptr && is_apart(machine, *profile)};
  for (const auto& [name, value] : machine.environment()) {
    if (is_linted(name)) out.shell.emplace(name, value);
  }
  return out;
}

Environment effective_environment(const InheritedVariables& inherited, const std::vector<std::string>& unset) {
  Environment out = inherited.shell;
  for (const std::string& name : unset) out.erase(name);
  for (const auto& [name, one] : inherited.files) out.emplace(name, one.value);
  return out;
}

std::string file_of(const InheritedVariables& inherited, const std::string& name,
                    const std::vector<std::string>& unset) {
  const auto found = inherited.files.find(name);
  const bool in_shell = inherited.shell.contains(name) && std::ranges::count(unset, name) == 0;
  return in_shell || found == inherited.files.end() ? "" : found->second.file;
}

std::string describe(const Finding& f) {
  const std::string expected = f.expected.empty() ? "" : fmt::format("expected {}; ", f.expected);
  return fmt::format("{} = {}: {}: {}{}", f.check, f.seen, name_of(f.state), expected, f.advice);
}

Findings inherited_findings(const InheritedVariables& inherited, const std::string& nccl_version,
                            const ClusterProfile& profile, const std::string& run_dir) {
  const std::vector<std::string> unset = unset_variables(profile);
  const Environment of_job = as_environment(job_environment(profile, run_dir));
  Environment all = of_job;
  all.merge(effective_environment(inherited, unset));
  Findings out;
  for (Finding f : lint(read_variable_table(), all, nccl_version, &profile)) {
    if (of_job.contains(f.check) || !all.contains(f.check)) continue;
    const std::string file = file_of(inherited, f.check, unset);
    const bool is_unset = std::ranges::count(unset, f.check) > 0;
    if (f.state == FindingState::ok && (file.empty() || is_unset || inherited.of_host)) f.state = FindingState::warning;
    if (file.empty()) {
      f.advice +=
          fmt::format("; the job of {} does not set it: unset it, or say why in environment.variables", profile.name);
    } else {
      f.advice += about_file(file, inherited.of_host, is_unset);
    }
    out.push_back(std::move(f));
  }
  return out;
}

namespace {

bool same_finding(const Finding& a, const Finding& b) {
  return a.check == b.check && a.state == b.state && a.expected == b.expected && a.advice == b.advice;
}

/// Adds what the lint finds in the environment of the whole job. What it finds in a generated value counts only where
/// it would not find it without the profile's own variables, for example because they contradict that value.
void add_lint(const ClusterProfile& p, const std::string& run_dir, std::vector<std::string>& out) {
  if (p.environment.variables.empty()) return;
  const VariableTable table = read_variable_table();
  ClusterProfile plain = p;
  plain.environment.variables.clear();
  const Findings before = lint(table, as_environment(job_environment(plain, run_dir)), "", &p);
  for (const Finding& f : lint(table, as_environment(job_environment(p, run_dir)), "", &p)) {
    const bool own = std::ranges::count(p.environment.variables, f.check, &EnvironmentValue::name) > 0;
    if (f.state == FindingState::ok || f.state == FindingState::absent) continue;
    if (!own && std::ranges::any_of(before, [&](const Finding& one) { return same_finding(f, one); })) continue;
    const std::string expected = f.expected.empty() ? "" : fmt::format("expected {}; ", f.expected);
    out.push_back(fmt::format("environment.variables: {} = {}{}: {}{}{}", f.check, f.seen, own ? "" : ", generated",
                              f.state == FindingState::bad ? "bad: " : "", expected, f.advice));
  }
}

}  // namespace

std::vector<std::string> environment_findings(const ClusterProfile& p, const std::string& run_dir,
                                              const InheritedVariables& inherited) {
  std::vector<std::string> out;
  for (const EnvironmentValue& v :
       p.environment.generate ? generated_environment(p, run_dir) : std::vector<EnvironmentValue>{}) {
    const auto own = std::ranges::find(p.environment.variables, v.name, &EnvironmentValue::name);
    if (own == p.environment.variables.end() || own->unset || own->value != v.value) continue;
    out.push_back(
        fmt::format("environment.variables: {} = {} is the value that is generated anyway; the entry can be removed",
                    v.name, v.value));
  }
  if (p.fabric == Fabric::roce) {
    const std::string problem = traffic_class_problem(p.nics.traffic_class);
    if (!problem.empty()) out.push_back(fmt::format("nics.traffic_class = {}: {}", p.nics.traffic_class, problem));
  }
  add_lint(p, run_dir, out);
  for (const Finding& f : inherited_findings(inherited, "", p, run_dir)) {
    if (f.state == FindingState::ok) continue;
    const bool of_file = !file_of(inherited, f.check, unset_variables(p)).empty();
    out.push_back(fmt::format("{}: {}",
                              of_file ? "NCCL reads a file of settings" : "the job inherits a variable of this shell",
                              describe(f)));
  }
  return out;
}

}  // namespace octet
