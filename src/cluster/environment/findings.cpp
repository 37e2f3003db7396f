#include "src/cluster/environment/findings.h"

#include <algorithm>

#include "src/cluster/doctor/text_lines.h"
#include "src/cluster/environment.h"
#include "src/cluster/environment/environment_lint.h"

namespace octet {
namespace {

/// Lines NAME=VALUE; those that begin with # are comments. What is there already stays.
void add_file(const Machine& machine, const std::string& path, Environment& out) {
  for (const std::string& line : lines_of(machine.read(path).value_or(""))) {
    const std::size_t equals = line.find('=');
    if (line.starts_with('#') || equals == std::string::npos) continue;
    const std::string name = trimmed(line.substr(0, equals));
    if (name.starts_with("NCCL_")) out.emplace(name, trimmed(line.substr(equals + 1)));
  }
}

}  // namespace

Environment effective_environment(const Machine& machine) {
  Environment out;
  for (const auto& [name, value] : machine.environment()) {
    if (is_linted(name)) out.emplace(name, value);
  }
  const std::string file = machine.variable("NCCL_CONF_FILE");
  add_file(machine, file.empty() ? machine.variable("HOME") + "/.nccl.conf" : file, out);
  add_file(machine, "/etc/nccl.conf", out);
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
  Findings out;
  for (Finding f : lint(read_variable_table(), all, nccl_version, &profile)) {
    if (of_job.contains(f.check) || !all.contains(f.check)) continue;
    if (f.state == State::ok) f.state = State::warning;
    f.advice +=
        fmt::format("; the job of {} does not set it: unset it, or say why in environment.variables", profile.name);
    out.push_back(std::move(f));
  }
  return out;
}

namespace {

/// What the lint has against values of the profile, in the environment of the whole job.
void add_lint(const ClusterProfile& p, const std::string& run_dir, std::vector<std::string>& out) {
  if (p.environment.variables.empty()) return;
  Environment environment;
  for (const EnvironmentValue& v : job_environment(p, run_dir)) environment[v.name] = v.value;
  for (const Finding& f : lint(read_variable_table(), environment, "", &p)) {
    const bool own = std::ranges::count(p.environment.variables, f.check, &EnvironmentValue::name) > 0;
    if (!own || f.state == State::ok) continue;
    const std::string expected = f.expected.empty() ? "" : fmt::format("expected {}; ", f.expected);
    out.push_back(fmt::format("environment.variables: {} = {}: {}{}", f.check, f.seen, expected, f.advice));
  }
}

}  // namespace

std::vector<std::string> environment_findings(const ClusterProfile& p, const std::string& run_dir,
                                              const Environment& shell) {
  std::vector<std::string> out;
  for (const EnvironmentValue& v :
       p.environment.generate ? generated_environment(p, run_dir) : std::vector<EnvironmentValue>{}) {
    const auto own = std::ranges::find(p.environment.variables, v.name, &EnvironmentValue::name);
    if (own == p.environment.variables.end() || own->value != v.value) continue;
    out.push_back(
        fmt::format("environment.variables: {} = {} is what is generated anyway; it can go", v.name, v.value));
  }
  add_lint(p, run_dir, out);
  for (const Finding& f : leaked_variables(shell, "", p, run_dir)) {
    out.push_back(fmt::format("the job inherits a variable of this shell: {}", describe(f)));
  }
  return out;
}

}  // namespace octet
