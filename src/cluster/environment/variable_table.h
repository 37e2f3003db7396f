#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "src/base/named_enum.h"
#include "src/cluster/machine/finding.h"

namespace octet {

/// Names and values.
using Environment = std::map<std::string, std::string>;

/// What reads a variable. `nobody`: no library that is known, although scripts set it.
enum class Reader { nccl, ucx, mpich, libfabric, pytorch, nobody };
std::string_view name_of(Reader reader);

/// Values that a variable may have. `selection` is NCCL's list of algorithms or protocols
/// ("ring,tree;allreduce:tree" or "allreduce:^tree"); `devices` its list of verbs devices,
/// `interfaces` that of network interfaces; `ucx_devices` is UCX's list of both. `addresses` is a range of them in
/// CIDR.
enum class ValueKind { text, integer, choice, selection, devices, interfaces, ucx_devices, addresses };
constexpr auto names_of(ValueKind) {
  return std::to_array<std::string_view>(
      {"text", "integer", "choice", "selection", "devices", "interfaces", "ucx_devices", "addresses"});
}

/// What carries NCCL's traffic where a variable has an effect. `verbs` is InfiniBand, RoCE and a site's own network.
enum class Transport { any, verbs, roce, socket, efa };
constexpr auto names_of(Transport) {
  return std::to_array<std::string_view>({"any", "verbs", "roce", "socket", "efa"});
}

/// A row of `variables` in configs/environment.yaml.
struct Variable {
  std::string name;
  Reader reader = Reader::nccl;
  std::string since, until;  ///< first and last release of the reader that has it; empty: before, or beyond the table
  ValueKind kind = ValueKind::text;
  std::int64_t at_least = std::numeric_limits<std::int64_t>::min();
  std::int64_t at_most = std::numeric_limits<std::int64_t>::max();
  std::vector<std::string> values;  ///< of choice and selection
  bool exact = false;               ///< the reader tells capitals from small letters in a choice
  std::string standard;             ///< value where it is not set; empty: it depends
  Transport transport = Transport::any;
  std::string does, source;
};

/// A row of `cautions`: values that have done harm, or that contradict another variable's.
struct Caution {
  std::string name;
  std::vector<std::string> values;  ///< compared without regard to case; "*" is any, "unset" a variable that is not set
  /// Another variable, the values of it with which the row holds (none: all), and those with which it does not. No
  /// variable: the row holds by itself.
  std::string with;
  std::vector<std::string> with_values, unless_values;
  std::string first, last;  ///< releases of NCCL, both included; empty: no bound
  FindingState state = FindingState::warning;
  std::string text, source;
};

struct VariableTable {
  std::vector<Variable> variables;
  std::vector<Caution> cautions;

  /// The variable of that name; null where the table has no such variable.
  const Variable* find(const std::string& name) const;
};

/// Reads configs/environment.yaml, from `path` or where Octet's files lie. Usage error names file, line and key.
VariableTable read_variable_table(const std::string& path = "");

}  // namespace octet
