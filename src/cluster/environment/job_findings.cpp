#include "src/cluster/environment/job_findings.h"

#include <algorithm>

#include "src/cluster/environment/conf_file.h"
#include "src/cluster/environment/environment_lint.h"
#include "src/cluster/environment/job_environment.h"
#include "src/cluster/environment/pair_rules.h"

namespace octet {

Environment effective_environment(const Machine& machine) {
  Environment out;
  for (const auto& [name, value] : machine.environment()) {
    if (is_linted(name)) out.emplace(name, value);
  }
  add_conf_files(machine, out);
  return out;
}

std::string describe(const Finding& f) {
  const std::string expected = f.expected.empty() ? "" : fmt::format("expected {}; ", f.expected);
  return fmt::format("{} = {}: {}: {}{}", f.check, f.seen, name_of(f.state), expected, f.advice);
}

Findings leaked_variables(const Environment& environment, const std::string& nccl_version,
                          const ClusterProfile& profile, const std::string& run_dir) {
  Environment of_job, all;
  for (const EnvironmentValue& v : job_environment(profile, run_dir)) of_job[v.name] = v.value;
  all = of_job;
  for (const auto& [name, value] : environment) {
    if (is_linted(name)) all.emplace(name, value);
  }
  for (const std::string& name : unset_variables(profile)) all.erase(name);
  Findings out;
  for (Finding f : lint(read_variable_table(), all, nccl_version, &profile)) {
    if (of_job.contains(f.check) || !all.contains(f.check)) continue;
    if (f.state == FindingState::ok) f.state = FindingState::warning;
    f.advice +=
        fmt::format("; the job of {} does not set it: unset it, or say why in environment.variables", profile.name);
    out.push_back(std::move(f));
  }
  return out;
}

namespace {

Environment as_environment(const std::vector<EnvironmentValue>& values) {
  Environment out;
  for (const EnvironmentValue& v : values) out[v.name] = v.value;
  return out;
}

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
                                              const Environment& shell) {
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
  for (const Finding& f : leaked_variables(shell, "", p, run_dir)) {
    out.push_back(fmt::format("the job inherits a variable of this shell: {}", describe(f)));
  }
  return out;
}

}  // namespace octet
