#pragma once

#include <string>

#include "src/cluster/environment/variable_table.h"

namespace octet {

/// What the variable's reader expects in place of this value: "0 to 7"; empty where it takes it.
std::string value_problem(const Variable& variable, const std::string& value);

/// Whether two values mean the same to their reader: the same integer, or the same text without regard to case.
bool same_value(const Variable& variable, const std::string& a, const std::string& b);

/// Whether the texts are the same but for the case of ASCII letters.
bool same_text(const std::string& a, const std::string& b);

}  // namespace octet
