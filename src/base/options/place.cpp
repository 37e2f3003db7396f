#include "src/base/options/place.h"

#include <yaml-cpp/yaml.h>

#include "src/base/options/text.h"

namespace octet {

std::string Place::origin() const {
  return line > 0 ? fmt::format("{}:{}", source, line) : source;
}

int line_of(const YAML::Node& node) {
  const YAML::Mark mark = node.Mark();
  return mark.is_null() ? 0 : mark.line + 1;
}

std::string describe(const YAML::Node& node) {
  constexpr std::size_t longest = 80;
  switch (node.Type()) {
    case YAML::NodeType::Scalar: {
      const std::string& text = node.Scalar();
      return in_quotes(text.size() > longest ? text.substr(0, longest) + "..." : text);
    }
    case YAML::NodeType::Map:
      return "a map";
    case YAML::NodeType::Sequence:
      return "a list";
    default:
      return "nothing";
  }
}

Error wrong_value(const Place& place, const YAML::Node& found, const std::string& expected) {
  return wrong_value(place, describe(found), expected);
}

Error wrong_value(const Place& place, const std::string& found, const std::string& expected) {
  return usage_error("config", "{}: {} = {}: expected {}", place.origin(), place.key, found, expected);
}

}  // namespace octet
