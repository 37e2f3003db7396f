#include "jobs/octet/submit/shell.h"

#include <unistd.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "src/base/log.h"
#include "src/cluster/slurm_variables.h"

namespace octet::submit {
namespace {

std::vector<std::pair<std::string, std::string>> variables() {
  std::vector<std::pair<std::string, std::string>> out;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::size_t equals = text.find('=');
    if (equals != std::string::npos) out.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return out;
}

void choose(ClusterProfile& profile, const std::string& name, const std::string& value, std::string_view option) {
  std::string& key = profile.slurm.*choice_field(name);
  if (key.empty()) {
    key = value;
    log::info("{}={} of this shell: the script asks for {}={}", name, value, option, value);
  } else if (key != value) {
    log::warning("{}={} of this shell is left out: profile or command line say {}={}", name, value, option, key);
  }
  unsetenv(name.c_str());
}

bool is_client_setting(const std::string& name) {
  return name.starts_with("SQUEUE_") || name.starts_with("SCANCEL_");
}

/// Why a variable is left out; empty for those of which nothing needs to be said.
std::string reason_for(const std::string& name, bool within_job) {
  if (is_client_setting(name)) return "";
  const SlurmVariable* v = find_slurm_variable(name);
  if (v != nullptr && v->kind == ShellVariable::fights && (!within_job || name.starts_with("SBATCH_"))) {
    return fmt::format("{}{}{}", v->option, v->option.empty() ? "" : ": ", v->why);
  }
  if (v == nullptr && name.starts_with("SBATCH_")) return "sbatch may take it before the script's lines";
  return within_job || v != nullptr ? "" : "it is what a job or a launcher leaves";
}

}  // namespace

void clear_shell(ClusterProfile& profile) {
  const char* job = std::getenv("SLURM_JOB_ID");
  const bool within_job = job != nullptr;
  if (within_job) log::info("this shell is of job {}: its SLURM_* and PMI_* variables are left out", job);
  for (const auto& [name, value] : variables()) {
    const SlurmVariable* v = find_slurm_variable(name);
    if (v != nullptr && v->kind == ShellVariable::choice) {
      choose(profile, name, value, v->option);
    } else if (is_left_out(name)) {
      const std::string reason = reason_for(name, within_job);
      if (!reason.empty()) log::warning("{}={} of this shell is left out: {}", name, value, reason);
      unsetenv(name.c_str());
    }
  }
}

void clear_client_settings() {
  for (const auto& [name, value] : variables()) {
    if (is_client_setting(name)) unsetenv(name.c_str());
  }
}

}  // namespace octet::submit
