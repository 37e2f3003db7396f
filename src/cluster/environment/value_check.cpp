#include "src/cluster/environment/value_check.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <optional>

#include "src/base/options/text.h"
#include "src/cluster/machine/text_lines.h"

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

/// The whole text as a number of any base.
std::optional<std::int64_t> integer(const std::string& text) {
  if (text.empty() || std::isspace(static_cast<unsigned char>(text[0])) != 0) return std::nullopt;
  char* end = nullptr;
  errno = 0;
  const std::int64_t value = std::strtoll(text.c_str(), &end, 0);
  if (errno != 0 || *end != '\0') return std::nullopt;
  return value;
}

/// The number that the variable's reader makes of the text, where the whole text is that number.
std::optional<std::int64_t> integer_of(const Variable& v, const std::string& text) {
  if (!v.name.starts_with("NCCL_")) return integer(text);
  const NcclNumber number = read_as_nccl(text);
  return number.whole ? number.value : std::nullopt;
}

std::string range_of(const Variable& v) {
  constexpr auto lowest = std::numeric_limits<std::int64_t>::min();
  constexpr auto highest = std::numeric_limits<std::int64_t>::max();
  if (v.at_least == lowest && v.at_most == highest) return "an integer";
  if (v.at_most == highest) return fmt::format("an integer of at least {}", v.at_least);
  if (v.at_least == lowest) return fmt::format("an integer of at most {}", v.at_most);
  return fmt::format("{} to {}", v.at_least, v.at_most);
}

bool same_word(const Variable& v, const std::string& a, const std::string& b) {
  return v.exact ? a == b : same_text(a, b);
}

bool is_choice(const Variable& v, const std::string& value) {
  return std::ranges::any_of(v.values, [&](const std::string& choice) { return same_word(v, choice, value); });
}

/// "10.8.0.0/16" or "fd02::/16": a whole address, and how many of its bits count.
bool is_address_range(const std::string& text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) return false;
  const std::string address = text.substr(0, slash), bits = text.substr(slash + 1);
  in6_addr room{};  // of an IPv4 address, too
  const bool old = ::inet_pton(AF_INET, address.c_str(), &room) == 1;
  if (!old && ::inet_pton(AF_INET6, address.c_str(), &room) != 1) return false;
  const auto count = integer(bits);
  return bits.find_first_not_of("0123456789") == std::string::npos && count && *count <= (old ? 32 : 128);
}

}  // namespace

NcclNumber read_as_nccl(const std::string& text) {
  if (text.empty()) return {};
  char* end = nullptr;
  errno = 0;
  const std::int64_t value = std::strtoll(text.c_str(), &end, 0);
  if (errno != 0) return {};
  const bool none = end == text.c_str();
  const std::string rest = trimmed(end);
  const bool unit = !rest.empty() && std::string_view("kKmMgGtTeE").find(rest[0]) != std::string_view::npos;
  return {value, !none && rest.empty(), none || unit || rest.find_first_of("0123456789") != std::string::npos};
}

std::string in_small_letters(std::string text) {
  std::ranges::transform(text, text.begin(), lower);
  return text;
}

bool same_text(const std::string& a, const std::string& b) {
  return std::ranges::equal(a, b, {}, lower, lower);
}

std::string value_problem(const Variable& v, const std::string& value) {
  if (v.kind == ValueKind::choice && !is_choice(v, value)) {
    return fmt::format("one of {}{}", joined(v.values), v.exact ? ", with their capitals" : "");
  }
  if (v.kind == ValueKind::addresses && !is_address_range(value)) {
    return "an address and how many of its bits count, such as 10.8.0.0/16; NCCL leaves another text out silently";
  }
  if (v.kind != ValueKind::integer) return "";
  const auto number = integer_of(v, value);
  if (number && *number >= v.at_least && *number <= v.at_most) return "";
  return range_of(v);
}

bool same_value(const Variable& v, const std::string& a, const std::string& b) {
  if (v.kind != ValueKind::integer) return same_word(v, a, b);
  const auto x = integer(a), y = v.name.starts_with("NCCL_") ? read_as_nccl(b).value : integer(b);
  return x && y ? *x == *y : same_text(a, b);
}

}  // namespace octet
