#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/cluster/environment/conf_file.h"
#include "src/cluster/environment/environment_lint.h"
#include "src/cluster/machine/machine.h"
#include "src/cluster/profile.h"

namespace octet {

/// What a job has beside the variables that its profile sets, as this machine shows it.
struct InheritedVariables {
  Environment shell;                       ///< of this process' environment, those that lint explains
  std::map<std::string, ConfValue> files;  ///< of NCCL's files (conf_file.h)
  bool of_host = false;  ///< the files are the host's, while the training runs in a container with files of its own
};
/// With a profile, as its job has them: the file is read that NCCL_CONF_FILE names there.
InheritedVariables inherited_variables(const Machine& machine, const ClusterProfile* profile = nullptr);

/// What a profile makes of NCCL_CONF_FILE: its value, empty where it unsets the variable; nothing where it leaves what
/// the shell has, as does none.
std::optional<std::string> own_conf_file(const ClusterProfile* profile);

/// Both together as NCCL sees them. The shell is taken without the variables `unset`, for which NCCL then goes to its
/// files.
Environment effective_environment(const InheritedVariables& inherited, const std::vector<std::string>& unset = {});

/// The file from which NCCL takes a variable there; empty where the shell has it, or nobody.
std::string file_of(const InheritedVariables& inherited, const std::string& name,
                    const std::vector<std::string>& unset = {});

/// Findings about inherited variables that lint explains and the job of the profile does not set; lint sees them
/// together with the job's own. Those that the profile does not unset either have leaked from the shell or a module:
/// none of these findings is ok. Those of NCCL's files come with the nodes, and are ok unless the profile unsets what a
/// file then brings back, or a container may lack the file.
Findings inherited_findings(const InheritedVariables& inherited, const std::string& nccl_version,
                            const ClusterProfile& profile, const std::string& run_dir);

/// What a finding of a variable says, on one line: "NCCL_NET = Socket: bad: ...; expected ...".
std::string describe(const Finding& finding);

/// What is odd about the environment of a job (src/cluster/environment/job_environment.h), a sentence each: values of
/// the profile that would be generated as they are, and what the lint (environment_lint.h) has against them. The
/// release of NCCL on the nodes is not known. Of `inherited` each leaked variable is told, and what is not ok in NCCL's
/// files.
std::vector<std::string> environment_findings(const ClusterProfile& profile, const std::string& run_dir,
                                              const InheritedVariables& inherited = {});

}  // namespace octet
