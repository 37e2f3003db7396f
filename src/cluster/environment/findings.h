#pragma once

#include <string>
#include <vector>

#include "src/cluster/profile.h"

namespace octet {

/// What is odd about the environment of a job (src/cluster/environment.h), a sentence each: values of the profile that
/// would be generated as they are, and what the lint (lint.h) has against them. The release of NCCL on the nodes is not
/// known.
std::vector<std::string> environment_findings(const ClusterProfile& profile, const std::string& run_dir);

}  // namespace octet
