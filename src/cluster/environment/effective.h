#pragma once

#include "src/cluster/doctor/machine.h"
#include "src/cluster/environment/lint.h"

namespace octet {

/// The variables of this machine's environment that lint explains, and those that NCCL reads from its files where the
/// environment has none of that name: $NCCL_CONF_FILE or else ~/.nccl.conf, then /etc/nccl.conf.
Environment effective_environment(const Machine& machine);

}  // namespace octet
