#include <fmt/format.h>

#include "src/base/options/text.h"
#include "src/cluster/doctor/doctor_checks.h"
#include "src/cluster/environment/job_environment.h"
#include "src/cluster/environment/job_findings.h"
#include "src/cluster/environment/named_files.h"

namespace octet {

/// No finding where no variable names a file.
Findings node_checks::check_nccl_files(const Examination& e) {
  if (e.profile != nullptr && !e.expects_gpus()) return {};  // NCCL is not used
  Environment environment;
  std::vector<std::string> unset;
  bool in_container = false;
  if (e.profile != nullptr) {
    for (const EnvironmentValue& v : job_environment(*e.profile, e.run_dir)) environment[v.name] = v.value;
    unset = unset_variables(*e.profile);
    in_container = !e.profile->software.container.empty();
  }
  environment.merge(effective_environment(inherited_variables(e.machine, e.profile), unset));
  Findings out;
  for (const Finding& f : file_findings(environment, e.machine)) {
    // With software.container octet is on the host, and the training in the container.
    const FindingState state = in_container ? FindingState::warning : f.state;
    const std::string where = in_container ? "; does the container have it?" : "";
    out.push_back({"nccl.files", state, fmt::format("{}={}", f.check, f.seen), f.expected, f.advice + where});
  }
  return out;
}

}  // namespace octet
