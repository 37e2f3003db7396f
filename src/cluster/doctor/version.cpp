#include "src/cluster/doctor/version.h"

#include <fmt/ranges.h>

#include <charconv>

namespace octet {

Version parse_version(std::string_view text) {
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end && (*at < '0' || *at > '9')) ++at;
  Version out;
  for (int number = 0; at != end; ++at) {
    const auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc()) break;
    out.push_back(number);
    at = next;
    if (at == end || *at != '.') break;
  }
  return out;
}

std::string to_text(const Version& version) {
  return fmt::format("{}", fmt::join(version, "."));
}

bool in_range(const Version& version, std::string_view first, std::string_view last) {
  if (!first.empty() && version < parse_version(first)) return false;
  if (last.empty()) return true;
  const Version limit = parse_version(last);
  Version shortened = version;
  if (shortened.size() > limit.size()) shortened.resize(limit.size());
  return shortened <= limit;
}

}  // namespace octet
