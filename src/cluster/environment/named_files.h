#pragma once

#include "src/cluster/environment/variable_table.h"
#include "src/cluster/machine/finding.h"
#include "src/cluster/machine/machine.h"

namespace octet {

/// Files that NCCL's variables name and this machine does not have, or does not let this process read: topology, graph,
/// and plugins named with a slash (others are looked for on the library path, which only the loader knows). A finding
/// each, its check the variable's name; none where all can be read. NCCL passes over most of them without a word. Only
/// for the machine on which the job is to run. In a snapshot (Machine) relative paths are not looked up.
Findings file_findings(const Environment& environment, const Machine& machine);

}  // namespace octet
