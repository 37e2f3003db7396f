#include "src/cluster/machine/known_versions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>

#include "src/base/error.h"
#include "src/base/installation.h"
#include "src/base/options/yaml.h"

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

std::vector<KnownVersions> read_known_versions(const std::string& path) {
  const std::string file = path.empty() ? find_shared("configs/known-bad.yaml") : path;
  if (file.empty()) throw usage_error("cluster", "configs/known-bad.yaml is not where Octet's files lie");
  std::vector<KnownVersions> list;
  Schema schema;
  schema.add_list<KnownVersions>("versions", list, [](Schema& element, KnownVersions& v) {
    element.add_choice("software", v.software, {"driver", "cuda", "nccl"}).required();
    element.add("first", v.first);
    element.add("last", v.last);
    element.add_choice<FindingState>("state", v.state,
                                     {{"warning", FindingState::warning}, {"bad", FindingState::bad}});
    element.add("problem", v.problem).required();
    element.add("advice", v.advice).required();
    element.add("source", v.source).required();
  });
  read_yaml_file(schema, file);
  return list;
}

Findings judge_version(const std::vector<KnownVersions>& list, const std::string& software,
                       const std::string& version) {
  const std::string check = "versions." + software;
  Findings out;
  for (const KnownVersions& v : list) {
    if (v.software != software || !in_range(parse_version(version), v.first, v.last)) continue;
    out.push_back({check, v.state, fmt::format("{}: {}", version, v.problem), "a version without that",
                   fmt::format("{} ({})", v.advice, v.source)});
  }
  if (out.empty()) out.push_back(good(check, version));
  return out;
}

}  // namespace octet
