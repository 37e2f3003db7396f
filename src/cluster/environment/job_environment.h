#pragma once

#include <string>
#include <vector>

#include "src/cluster/profile.h"

namespace octet {

/// What the fabric, the cards, the container and the file system of a run need in the job's environment, each with its
/// reason, and the release of NCCL from which it may no longer hold (2.30 knows rails and planes of cards and fails
/// over between ports): NCCL kept on the fabric and its bootstrap off it, UCX (below MPI) off it, HDF5 without locks
/// where there are none. Values that NCCL finds by itself, or the programs when they see their GPUs
/// (jobs/ranks/nvls.h), are not among them. For NCCL 2.24 to 2.30. `run_dir`: absolute.
std::vector<EnvironmentValue> generated_environment(const ClusterProfile& profile, const std::string& run_dir);

/// The environment of a job: the generated values, with the profile's in their place or behind them, and without those
/// that the profile unsets.
std::vector<EnvironmentValue> job_environment(const ClusterProfile& profile, const std::string& run_dir);

/// What a variable is in a job with that environment: its value there, else that of this shell, which the job inherits;
/// empty where it has none.
std::string value_in_job(const ClusterProfile& profile, const std::vector<EnvironmentValue>& environment,
                         const std::string& name);

/// Names that the profile unsets: the job has no such variable, neither generated nor of the shell that submits.
std::vector<std::string> unset_variables(const ClusterProfile& profile);

}  // namespace octet
