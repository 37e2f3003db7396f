#pragma once

#include <optional>
#include <string>

#include "src/cluster/environment/variable_table.h"
#include "src/cluster/machine/finding.h"

namespace octet {

/// The library whose variables begin as this name does; nothing for a name of other programs. NCCL's names count in
/// small letters, too, although nothing reads them then, and those of its plugin aws-ofi-nccl.
std::optional<Reader> reader_of(const std::string& name);

/// What there is to say of a variable of reader_of's libraries that the table does not have: a warning, with the name
/// of the table that it may have meant. It is ok where a plugin of NCCL's network or tuner may read it, whose names
/// begin as NCCL's do.
Finding unknown_variable(const VariableTable& table, const Environment& environment, const std::string& name);

}  // namespace octet
