#include "src/cluster/environment/value_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <optional>

#include "src/base/options/text.h"
#include "src/cluster/doctor/lines.h"

namespace octet {
namespace {

char lower(char c) {
  return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

/// As NCCL reads numbers: strtoll with any base, the whole text.
std::optional<std::int64_t> integer(const std::string& text) {
  if (text.empty() || std::isspace(static_cast<unsigned char>(text[0])) != 0) return std::nullopt;
  char* end = nullptr;
  errno = 0;
  const std::int64_t value = std::strtoll(text.c_str(), &end, 0);
  if (errno != 0 || *end != '\0') return std::nullopt;
  return value;
}

std::string range_of(const Variable& v) {
  constexpr auto lowest = std::numeric_limits<std::int64_t>::min();
  constexpr auto highest = std::numeric_limits<std::int64_t>::max();
  if (v.at_least == lowest && v.at_most == highest) return "an integer";
  if (v.at_most == highest) return fmt::format("an integer of at least {}", v.at_least);
  if (v.at_least == lowest) return fmt::format("an integer of at most {}", v.at_most);
  return fmt::format("{} to {}", v.at_least, v.at_most);
}

bool is_choice(const Variable& v, const std::string& value) {
  return std::ranges::any_of(v.values, [&](const std::string& choice) { return same_text(choice, value); });
}

/// "ring,tree;allreduce:tree,nvlstree" or "allreduce:^tree": groups, of which the first alone may lack a function.
std::string selection_problem(const Variable& v, const std::string& value) {
  bool first = true;
  for (std::string group : split(value, ';')) {
    const std::size_t colon = group.find(':');
    if (colon == std::string::npos && !first) return "FUNCTION:NAMES behind the first ;";
    if (colon != std::string::npos) group = trimmed(group.substr(colon + 1));
    if (group.starts_with('^')) group.erase(0, 1);
    for (const std::string& name : split(group, ',')) {
      if (!is_choice(v, name))
        return fmt::format("{} in place of {}: NCCL ends with an error", joined(v.values), in_quotes(name));
    }
    first = false;
  }
  return "";
}

}  // namespace

bool same_text(const std::string& a, const std::string& b) {
  return std::ranges::equal(a, b, {}, lower, lower);
}

std::string value_problem(const Variable& v, const std::string& value) {
  if (v.kind == ValueKind::choice && !is_choice(v, value)) return fmt::format("one of {}", joined(v.values));
  if (v.kind == ValueKind::selection) return selection_problem(v, value);
  if (v.kind != ValueKind::integer) return "";
  const auto number = integer(value);
  if (number && *number >= v.at_least && *number <= v.at_most) return "";
  return range_of(v);
}

bool same_value(const Variable& v, const std::string& a, const std::string& b) {
  if (v.kind == ValueKind::integer && integer(a) && integer(b)) return integer(a) == integer(b);
  return same_text(a, b);
}

}  // namespace octet
