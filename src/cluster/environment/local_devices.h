#pragma once

#include <string>
#include <vector>

#include "src/cluster/environment/variable_table.h"
#include "src/cluster/machine/finding.h"
#include "src/cluster/machine/machine.h"

namespace octet {

/// What a machine has that variables name.
struct LocalDevices {
  std::vector<std::string> interfaces;  ///< of /sys/class/net
  std::vector<std::string> hcas;        ///< verbs devices, of /sys/class/infiniband
};

LocalDevices local_devices(const Machine& machine);

/// What is wrong where a variable of interfaces or of verbs devices (ValueKind) names what the machine has not, or
/// leaves nothing over; no advice where nothing is. A machine without any verbs device knows nothing of them (absent).
/// `seen` and the rest stay empty. NCCL matches by prefix, with `=` by whole names, and `^` excludes; UCX by whole
/// names, each with its port (NCCL docs, env; UCX docs, configuration).
Finding device_finding(const Variable& variable, const std::string& value, const LocalDevices& devices);

}  // namespace octet
