#include "src/cluster/environment/value_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <optional>

#include "src/base/options/text.h"
#include "src/cluster/doctor/text_lines.h"

namespace octet {
namespace {

bool ends_in_digit(const std::string& name) {
  return !name.empty() && std::isdigit(static_cast<unsigned char>(name.back())) != 0;
}

}  // namespace

DeviceList parse_devices(std::string text) {
  DeviceList out;
  out.excluded = text.starts_with('^');
  if (out.excluded) text.erase(0, 1);
  out.exact = text.starts_with('=');
  if (out.exact) text.erase(0, 1);
  for (const std::string& part : split(text, ',')) out.names.push_back(part.substr(0, part.find(':')));
  return out;
}

bool takes(const DeviceList& list, const std::string& device) {
  const bool listed = std::ranges::any_of(
      list.names, [&](const std::string& name) { return list.exact ? device == name : device.starts_with(name); });
  return listed != list.excluded;
}

std::string device_list_problem(const std::string& text, const std::vector<std::string>& wanted) {
  const DeviceList list = parse_devices(text);
  if (list.names.size() > 32) return fmt::format("has {} devices; NCCL uses 32 at most", list.names.size());
  std::vector<std::string> problems, lost, others;
  for (const std::string& device : wanted) {
    if (!takes(list, device)) lost.push_back(device);
  }
  if (!lost.empty()) problems.push_back(fmt::format("leaves out {}, which the profile has", joined(lost)));
  for (const std::string& name : list.names) {
    const bool other = list.exact && !list.excluded && std::ranges::count(wanted, name) == 0;
    if (other && !wanted.empty()) others.push_back(name);
  }
  if (!others.empty()) problems.push_back(fmt::format("has {}, which the profile has not", joined(others)));
  const auto numbered = std::ranges::find_if(list.names, ends_in_digit);
  if (!list.exact && numbered != list.names.end()) {
    problems.push_back(fmt::format("names match as prefixes: {0} also {1} {0}0 to {0}9", *numbered,
                                   list.excluded ? "leaves out" : "takes"));
  }
  return joined(problems, "; ");
}

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
