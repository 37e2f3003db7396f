#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/cluster/machine/finding.h"
#include "src/cluster/machine/machine.h"

namespace octet {

/// The files that NCCL reads, first those that win: $NCCL_CONF_FILE or else ~/.nccl.conf, then /etc/nccl.conf. Of
/// ~/.nccl.conf there are two where HOME is not the home of the account, by which older releases go. `own` is the value
/// of NCCL_CONF_FILE, empty where it is unset; nothing: as the machine's environment has it.
std::vector<std::string> conf_files(const Machine& machine, const std::optional<std::string>& own = {});

/// A value in one of NCCL's files.
struct ConfValue {
  std::string value, file;
};

/// What NCCL's variables are in its files, by name, of each in the first file that has it. NCCL takes it where the
/// environment has no such variable, also where one was unset. As NCCL does it (setEnvFile), neither names nor values
/// are trimmed. `own`: as for conf_files.
std::map<std::string, ConfValue> conf_values(const Machine& machine, const std::optional<std::string>& own = {});

/// Lines of these files that do not do what they seem to: names with blanks, names in small letters, no `=`. A finding
/// each, a warning, its check the file and the line's number. `own`: as for conf_files.
Findings conf_file_findings(const Machine& machine, const std::optional<std::string>& own = {});

}  // namespace octet
