#pragma once

#include <string>

#include "src/cluster/environment/variable_table.h"
#include "src/cluster/machine/finding.h"

namespace octet {

/// The table's cautions that hold of a variable that is set to this value, a finding each. `nccl_version`: "2.28.9";
/// empty where it is not known, and then cautions of certain releases hold of none.
Findings cautions_of(const Variable& variable, const std::string& value, const VariableTable& table,
                     const Environment& environment, const std::string& nccl_version);

/// The same of variables that are not set: what their defaults have done.
Findings cautions_of_unset(const VariableTable& table, const Environment& environment, const std::string& nccl_version);

}  // namespace octet
