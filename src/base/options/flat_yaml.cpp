#include "src/base/options/flat_yaml.h"

#include <yaml-cpp/yaml.h>

#include "src/base/options/place.h"

namespace octet {
namespace {

std::string flow_text(const YAML::Node& node) {
  if (node.IsScalar()) return node.Scalar();
  YAML::Emitter out;
  out.SetSeqFormat(YAML::Flow);
  out.SetMapFormat(YAML::Flow);
  out << node;
  return out.c_str();
}

void flatten(const YAML::Node& map, const std::string& prefix, std::map<std::string, std::string>& out) {
  for (const auto& entry : map) {
    const std::string key = prefix + entry.first.Scalar();
    if (entry.second.IsMap()) {
      flatten(entry.second, key + ".", out);
    } else {
      out[key] = flow_text(entry.second);
    }
  }
}

}  // namespace

std::map<std::string, std::string> flat_yaml(const std::string& text, const std::string& source) {
  try {
    const YAML::Node map = YAML::Load(text);
    if (!map.IsMap()) throw usage_error("config", "{}: found {}, expected a map of options", source, describe(map));
    std::map<std::string, std::string> out;
    flatten(map, "", out);
    return out;
  } catch (const YAML::Exception& error) {
    throw usage_error("config", "{}:{}: no valid YAML: {}", source, error.mark.line + 1, error.msg);
  }
}

}  // namespace octet
