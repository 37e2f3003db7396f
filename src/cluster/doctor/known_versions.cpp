#include "src/cluster/doctor/known_versions.h"

#include <fmt/format.h>

#include "src/base/error.h"
#include "src/base/options/yaml.h"
#include "src/cluster/doctor/version.h"
#include "src/cluster/share_folder.h"

namespace octet {

std::vector<KnownVersions> read_known_versions(const std::string& path) {
  const std::string file = path.empty() ? find_shared("configs/known-bad.yaml") : path;
  if (file.empty()) throw usage_error("cluster", "configs/known-bad.yaml is not where Octet's files lie");
  std::vector<KnownVersions> list;
  Schema schema;
  schema.add_list<KnownVersions>("versions", list, [](Schema& element, KnownVersions& v) {
    element.add_choice("software", v.software, {"driver", "cuda", "nccl"}).required();
    element.add("first", v.first);
    element.add("last", v.last);
    element.add_choice<State>("state", v.state, {{"warning", State::warning}, {"bad", State::bad}});
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
