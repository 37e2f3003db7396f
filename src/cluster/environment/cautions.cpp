#include "src/cluster/environment/cautions.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "src/cluster/environment/selection.h"
#include "src/cluster/environment/value_check.h"
#include "src/cluster/machine/known_versions.h"

namespace octet {
namespace {

/// Whether `value` is what a row means by `one`: for NCCL_PROTO a list that forces this protocol, for any other
/// variable an equal value.
bool means(const Variable& v, const std::string& one, const std::string& value) {
  if (one == "*") return true;
  return v.name == "NCCL_PROTO" ? forces(v, value, one) : same_value(v, one, value);
}

bool is_one_of(const std::vector<std::string>& values, const Variable& v, const std::string& value) {
  return std::ranges::any_of(values, [&](const std::string& one) { return means(v, one, value); });
}

bool holds_of_unset(const std::vector<std::string>& values) {
  return std::ranges::find(values, "unset") != values.end();
}

/// Whether the condition that a caution sets on another variable holds.
bool holds_with(const Caution& c, const VariableTable& table, const Environment& environment) {
  if (c.with.empty()) return true;
  const auto other = environment.find(c.with);
  const Variable* v = table.find(c.with);
  const auto is_among = [&](const std::vector<std::string>& values) {
    if (other == environment.end()) return holds_of_unset(values);
    return v != nullptr && is_one_of(values, *v, other->second);
  };
  return (c.with_values.empty() || is_among(c.with_values)) && !is_among(c.unless_values);
}

/// Releases are compared where the one that runs is known; a caution for all of them always holds.
bool holds_in(const Caution& c, const std::string& nccl_version) {
  if (c.first.empty() && c.last.empty()) return true;
  return !nccl_version.empty() && in_range(parse_version(nccl_version), c.first, c.last);
}

}  // namespace

Findings cautions_of(const Variable& variable, const std::string& value, const VariableTable& table,
                     const Environment& environment, const std::string& nccl_version) {
  Findings out;
  for (const Caution& c : table.cautions) {
    if (c.name != variable.name || !is_one_of(c.values, variable, value)) continue;
    if (!holds_with(c, table, environment) || !holds_in(c, nccl_version)) continue;
    const auto other = environment.find(c.with);
    const bool says_with = !c.with_values.empty() && other != environment.end();
    const std::string with = says_with ? fmt::format("{}={}: ", c.with, other->second) : "";
    out.push_back({c.name, c.state, value, "", fmt::format("{}{} ({})", with, c.text, c.source)});
  }
  return out;
}

Findings cautions_of_unset(const VariableTable& table, const Environment& environment,
                           const std::string& nccl_version) {
  Findings out;
  for (const Caution& c : table.cautions) {
    if (!holds_of_unset(c.values) || environment.contains(c.name)) continue;
    if (!holds_with(c, table, environment) || !holds_in(c, nccl_version)) continue;
    out.push_back({c.name, c.state, "not set", "", fmt::format("{} ({})", c.text, c.source)});
  }
  return out;
}

}  // namespace octet
