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

/// What is wrong with a variable that lists interfaces or verbs devices (ValueKind): it names one that the machine does
/// not have, or leaves none to use; `advice` is empty where nothing is wrong. On a machine without any verbs device the
/// state is `absent`, since it says nothing about the nodes. `seen` and `expected` stay empty. NCCL matches by prefix,
/// with `=` by whole names, and `^` excludes; UCX matches by whole names, each with its port (NCCL docs, env; UCX docs,
/// configuration).
Finding device_finding(const Variable& variable, const std::string& value, const LocalDevices& devices);

}  // namespace octet
