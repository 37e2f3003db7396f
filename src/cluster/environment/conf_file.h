#pragma once

#include "src/cluster/environment/variable_table.h"
#include "src/cluster/machine/finding.h"
#include "src/cluster/machine/machine.h"

namespace octet {

/// Adds what NCCL reads from its files where the environment has none of that name: $NCCL_CONF_FILE or else
/// ~/.nccl.conf, then /etc/nccl.conf. As NCCL does it (setEnvFile), neither names nor values are trimmed.
void add_conf_files(const Machine& machine, Environment& environment);

/// Lines of these files that do not do what they seem to: names with blanks, names in small letters, no `=`. A finding
/// each, a warning, its check the file and the line's number.
Findings conf_file_findings(const Machine& machine);

}  // namespace octet
