#pragma once

#include <string>

#include "src/cluster/environment/variable_table.h"
#include "src/cluster/machine/finding.h"

namespace octet {

/// The cautions of the table that apply to this variable with this value, one finding each. `nccl_version`: "2.28.9";
/// empty where it is not known: then cautions about certain releases do not apply.
Findings cautions_of(const Variable& variable, const std::string& value, const VariableTable& table,
                     const Environment& environment, const std::string& nccl_version);

/// The same of variables that are not set: what their defaults have done.
Findings cautions_of_unset(const VariableTable& table, const Environment& environment, const std::string& nccl_version);

}  // namespace octet
