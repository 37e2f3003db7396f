#pragma once

#include <string>

#include "src/cluster/environment/environment_lint.h"

namespace octet::test {

/// The variables that Octet knows.
inline const VariableTable& table() {
  static const VariableTable table = read_variable_table();
  return table;
}

/// "STATE: ADVICE" of the finding of a variable that is alone in the environment; several in as many lines.
inline std::string one(const std::string& name, const std::string& value, const std::string& nccl = "2.28.9",
                       const ClusterProfile* profile = nullptr) {
  std::string out;
  for (const Finding& f : lint(table(), {{name, value}}, nccl, profile)) {
    if (f.check == name) out += fmt::format("{}: {} {}\n", name_of(f.state), f.expected, f.advice);
  }
  return out;
}

}  // namespace octet::test
