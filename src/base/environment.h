#pragma once

#include <functional>
#include <string>
#include <vector>

namespace octet {

/// What a variable of the environment says; empty where it is not set.
std::string environment_variable(const char* name);

/// The same, of this process or of a job or machine that is described elsewhere.
using VariableReader = std::function<std::string(const char* name)>;

/// The folders that a variable such as $PATH lists. Empty entries are left out.
std::vector<std::string> folders_of_list(const std::string& list);

}  // namespace octet
