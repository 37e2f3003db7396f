// The parts of a list of structs that do not depend on the struct: ListValueBase of schema.h.
#include <yaml-cpp/yaml.h>

#include "src/base/options/schema.h"
#include "src/base/options/text.h"
#include "src/base/options/yaml.h"

namespace octet {

std::string ListValueBase::type() const {
  Schema example;
  declare_example(example);
  const std::string first = example.names().front();
  return fmt::format("{0}, list of {0}, or list of {{{1}}}", first, joined(example.names()));
}

void ListValueBase::read(const YAML::Node& node, const Place& place) {
  if (!node.IsDefined() || node.IsNull()) throw wrong_value(place, node, type());
  const bool list = node.IsSequence();
  resize(list ? node.size() : 1);
  for (std::size_t i = 0; i < size(); ++i) {
    const YAML::Node element = list ? node[i] : node;
    const Place at = list ? place.at(line_of(element), fmt::format("{}[{}]", place.key, i)) : place;
    Schema schema;
    declare(schema, i);
    if (element.IsMap()) {
      read_map(schema, element, at);
      if (at.missing == nullptr) schema.check_required(at.origin() + ": " + at.key, false);
      if (at.missing != nullptr) schema.add_missing(at.origin(), at.key + ".", *at.missing);
    } else {
      schema.find(schema.names().front())->read(element, at);
    }
  }
}

std::string ListValueBase::text() const {
  std::vector<std::string> elements;
  for (std::size_t i = 0; i < size(); ++i) {
    Schema schema;
    declare(schema, i);
    std::vector<std::string> members;
    for (const Option& option : schema.options()) members.push_back(option.key() + ": " + option.text());
    elements.push_back(fmt::format("{{{}}}", joined(members)));
  }
  return fmt::format("[{}]", joined(elements));
}

void ListValueBase::check(const Place& place) const {
  for (std::size_t i = 0; i < size(); ++i) {
    Schema schema;
    declare(schema, i);
    for (const Option& option : schema.options()) {
      option.check(place.at(place.line, fmt::format("{}[{}].{}", place.key, i, option.key())));
    }
  }
}

}  // namespace octet
