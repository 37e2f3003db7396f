#pragma once

#include "src/cluster/profile.h"

namespace octet::submit {

/// Takes out of this process' environment what would make Slurm's commands do something else than the script and Octet
/// say (src/cluster/slurm_variables.h), and warns of each by name and reason, of those of a job around this shell in
/// one line. A choice that the profile leaves open (SBATCH_ACCOUNT with an empty slurm.account) is taken over into the
/// profile, and told. Before other threads start.
void clear_shell(ClusterProfile& profile);

/// The settings of squeue and scancel alone, for commands that ask for jobs by name; nothing is said.
void clear_client_settings();

}  // namespace octet::submit
