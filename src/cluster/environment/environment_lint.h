#pragma once

#include <string>

#include "src/cluster/environment/local_devices.h"
#include "src/cluster/environment/variable_table.h"
#include "src/cluster/profile.h"

namespace octet {

/// Explains every variable of NCCL, UCX, MPICH, libfabric and PyTorch's NCCL wrapper in an environment, in the order of
/// their names; the others are not looked at. A finding's check is the variable's name. A finding is bad where the
/// value ends a run, hangs it, corrupts it, takes it off its fabric or is read as another number; it is a warning where
/// the value has no effect, another effect than it seems to have, or a cost. `nccl_version`: "2.28.9"; empty where it
/// is not known, and then releases are not compared. `profile` may be null; what carries the traffic follows from
/// NCCL_NET, or else from the profile. `devices` are those of the machine where the job is to run; null: names of
/// interfaces and cards are not looked up.
Findings lint(const VariableTable& table, const Environment& environment, const std::string& nccl_version,
              const ClusterProfile* profile, const LocalDevices* devices = nullptr);

/// Says whether a variable is one of those that lint explains.
bool is_linted(const std::string& name);

}  // namespace octet
