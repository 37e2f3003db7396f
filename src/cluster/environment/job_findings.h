#pragma once

#include <string>
#include <vector>

#include "src/cluster/environment/environment_lint.h"
#include "src/cluster/machine/machine.h"
#include "src/cluster/profile.h"

namespace octet {

/// The variables of this machine's environment that lint explains, and those that NCCL reads from its files where the
/// environment has none of that name (conf_file.h).
Environment effective_environment(const Machine& machine);

/// Findings about variables of `environment` that lint explains and the job of the profile neither sets nor unsets:
/// they leaked from the submitting shell, from a module or from NCCL's files. Lint sees them together with the job's
/// own variables; none of these findings is ok.
Findings leaked_variables(const Environment& environment, const std::string& nccl_version,
                          const ClusterProfile& profile, const std::string& run_dir);

/// What a finding of a variable says, on one line: "NCCL_NET = Socket: bad: ...; expected ...".
std::string describe(const Finding& finding);

/// What is odd about the environment of a job (src/cluster/environment/job_environment.h), a sentence each: values of
/// the profile that would be generated as they are, and what the lint (environment_lint.h) has against them. The
/// release of NCCL on the nodes is not known. `shell`: the environment that the job inherits, of which each leaked
/// variable is told.
std::vector<std::string> environment_findings(const ClusterProfile& profile, const std::string& run_dir,
                                              const Environment& shell = {});

}  // namespace octet
