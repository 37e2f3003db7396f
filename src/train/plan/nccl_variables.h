#pragma once

#include <vector>

#include "src/cluster/profile.h"
#include "src/comm/nccl_settings.h"

namespace octet {

/// What NCCL reads in the environment of this process. Once it has made a communicator, there is also what its files
/// (/etc/nccl.conf) and its network's plugin have set, and what a library that is older than 2.22 does not do.
NcclVariables nccl_variables();

/// What NCCL will read in a job with that profile and environment (job_environment.h).
NcclVariables nccl_variables(const ClusterProfile& profile, const std::vector<EnvironmentValue>& environment);

}  // namespace octet
