#pragma once

#include <map>
#include <string>
#include <vector>

#include "src/cluster/machine/finding.h"
#include "src/cluster/machine/machine.h"

namespace octet {

/// The files that NCCL reads, first those that win: $NCCL_CONF_FILE or else ~/.nccl.conf, then /etc/nccl.conf. Of
/// ~/.nccl.conf there are two where HOME is not the home of the account, by which older releases go.
std::vector<std::string> conf_files(const Machine& machine);

/// A value in one of NCCL's files.
struct ConfValue {
  std::string value, file;
};

/// What NCCL's variables are in its files, by name, of each in the first file that has it. NCCL takes it where the
/// environment has no such variable, also where one was unset. As NCCL does it (setEnvFile), neither names nor values
/// are trimmed.
std::map<std::string, ConfValue> conf_values(const Machine& machine);

/// Lines of these files that do not do what they seem to: names with blanks, names in small letters, no `=`. A finding
/// each, a warning, its check the file and the line's number.
Findings conf_file_findings(const Machine& machine);

}  // namespace octet
