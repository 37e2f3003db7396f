#include "src/base/options/yaml.h"

#include <yaml-cpp/yaml.h>

#include <filesystem>

#include "src/base/files.h"
#include "src/base/options/text.h"
#include "src/base/options/value.h"
#include "src/base/options/yaml_document.h"

namespace octet {
namespace {

std::string below(const std::string& prefix, const std::string& key) {
  return prefix.empty() ? key : prefix + "." + key;
}

/// The key of a map's entry, after the check that it is a scalar that did not come before.
std::string unique_key(const YAML::Node& node, const Place& place, std::map<std::string, int>& seen) {
  const int line = line_of(node);
  if (!node.IsScalar()) {
    throw usage_error("config", "{}: the key is {}, expected a name", place.at(line, "").origin(), describe(node));
  }
  std::string name = below(place.key, node.Scalar());
  const auto [first, is_new] = seen.emplace(name, line);
  if (is_new) return name;
  throw usage_error("config", "{}: {} is given twice (first in line {}), expected once", place.at(line, "").origin(),
                    name, first->second);
}

/// Names at the same level of the file first, so that equal distances favour them.
Error unknown_key(const Schema& schema, const std::string& section, const Place& place, const YAML::Node& value) {
  const std::string known_as = place.key;
  const std::vector<std::string> all = schema.names();
  std::vector<std::string> candidates;
  for (const std::string& name : all) {
    if (!section.empty() && name.starts_with(section + ".")) candidates.push_back(name);
  }
  candidates.insert(candidates.end(), all.begin(), all.end());
  if (section.empty()) {
    for (const auto& s : schema.sections()) {
      if (!s.name.empty()) candidates.push_back(s.name);
    }
  }
  const std::string best = nearest(known_as, candidates);
  if (best == known_as) {  // "train.steps: 5" at the top of the file
    return usage_error("config",
                       "{}: {} (value {}) is written as one key, expected the key \"{}\" inside a section \"{}\"",
                       place.origin(), known_as, describe(value), known_as.substr(known_as.find('.') + 1),
                       known_as.substr(0, known_as.find('.')));
  }
  return usage_error("config", "{}: unknown key {} (value {}), expected one of the known keys; nearest: {}",
                     place.origin(), known_as, describe(value), best);
}

/// Reads a key that is the former name of an option, and says whether it was one. A warning tells the new name, but not
/// for stored settings.
bool read_former(Schema& schema, const YAML::Node& value, const Place& place, std::map<std::string, int>& seen,
                 const std::vector<std::string>* unknown) {
  Option* option = schema.find(schema.current_name(place.key));
  if (option == nullptr) return false;
  const auto [first, is_new] = seen.emplace(option->name(), place.line);
  if (!is_new) {
    throw usage_error("config", "{}: {} is the old name of {}, which line {} gives, expected once", place.origin(),
                      place.key, option->name(), first->second);
  }
  option->read_former(value, place, unknown == nullptr);
  return true;
}

/// `unknown`: null refuses unknown keys.
void read_section(Schema& schema, const std::string& section, const YAML::Node& map, const Place& place,
                  std::vector<std::string>* unknown) {
  if (map.IsNull()) return;
  if (!map.IsMap()) throw wrong_value(place, map, "a map of options");
  std::map<std::string, int> seen;
  for (const auto& entry : map) {
    const std::string name = unique_key(entry.first, place, seen);
    const Place at = place.at(line_of(entry.first), name);
    Option* option = schema.find(name);
    if (option == nullptr && read_former(schema, entry.second, at, seen, unknown)) continue;
    if (option == nullptr && unknown == nullptr) throw unknown_key(schema, section, at, entry.second);
    option == nullptr ? unknown->push_back(name) : option->read(entry.second, at);
  }
}

void read_sections(Schema& schema, const YAML::Node& map, const Place& place, std::vector<std::string>* unknown) {
  if (!map.IsMap()) {
    throw usage_error("config", "{}: found {}, expected a map of options", place.origin(), describe(map));
  }
  std::map<std::string, int> seen;
  for (const auto& entry : map) {
    const std::string name = unique_key(entry.first, place, seen);
    const std::string own = entry.first.Scalar();
    const Place at = place.at(line_of(entry.first), name);
    Option* option = schema.find(own);
    if (schema.has_section(own)) {
      read_section(schema, own, entry.second, at, unknown);
    } else if (option != nullptr && option->section().empty()) {
      option->read(entry.second, at);
    } else if (unknown != nullptr) {
      unknown->push_back(name);
    } else {
      throw unknown_key(schema, "", at, entry.second);
    }
  }
}

std::string read_text(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    throw usage_error("config", "{}: is a folder, expected a YAML file", path);
  }
  constexpr std::size_t most = std::size_t{64} << 20;  // no configuration comes near it
  return given_text("config", path, "a YAML file", most);
}

}  // namespace

void read_map(Schema& schema, const YAML::Node& map, const Place& place) {
  read_sections(schema, map, place, nullptr);
}

void read_yaml_text(Schema& schema, const std::string& text, const std::string& source) {
  const YAML::Node map = yaml_document(text, source);
  read_map(schema, map, {source, line_of(map), ""});
}

void read_yaml_known(Schema& schema, const std::string& text, const std::string& source,
                     std::vector<std::string>& unknown) {
  const YAML::Node map = yaml_document(text, source);
  read_sections(schema, map, {source, line_of(map), ""}, &unknown);
}

void read_yaml_file(Schema& schema, const std::string& path, std::vector<std::string>* missing) {
  const YAML::Node map = yaml_document(read_text(path), path);
  read_map(schema, map, {path, line_of(map), "", missing});
}

void read_argument(Option& option, const std::string& text) {
  const Place place = {"command line", 0, "--" + option.name()};
  refuse_what_is_no_text(text, place.key);
  YAML::Node node(text);
  if (option.is_list() && text.starts_with('[')) {
    try {
      node = YAML::Load(text);
    } catch (const YAML::Exception& error) {
      throw wrong_value(place, in_quotes(text), option.type() + ": " + error.msg);
    }
  }
  option.read(node, place);
}

void read_words(Option& option, const std::vector<std::string>& texts) {
  YAML::Node node(texts.front());
  if (option.is_several()) {
    node = YAML::Node(YAML::NodeType::Sequence);
    for (const std::string& text : texts) node.push_back(text);
  }
  option.read(node, {"command line", 0, "--" + option.name()});
}

void read_former_argument(Option& option, const std::string& text) {
  const Place place = {"command line", 0, "--" + option.former_name()};
  refuse_what_is_no_text(text, place.key);
  option.read_former(YAML::Node(text), place, true);
}

namespace {

/// Counts the nodes as they would be written: by anchors and aliases a short text can stand for endlessly many.
void count_nodes(const YAML::Node& node, int depth, std::int64_t& count, const std::string& source) {
  constexpr int deepest = 32;
  constexpr std::int64_t most = 100'000;
  if (depth > deepest || ++count > most) {
    throw usage_error("config", "{}:{}: nested deeper than {} times, or more than {} values, expected a map of options",
                      source, line_of(node), deepest, most);
  }
  if (!node.IsSequence() && !node.IsMap()) return;
  for (const auto& entry : node) {
    if (node.IsSequence()) {
      count_nodes(entry, depth + 1, count, source);
    } else {
      count_nodes(entry.first, depth + 1, count, source);
      count_nodes(entry.second, depth + 1, count, source);
    }
  }
}

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
    const YAML::Node map = yaml_document(text, source);
    if (!map.IsMap()) throw usage_error("config", "{}: found {}, expected a map of options", source, describe(map));
    std::int64_t count = 0;
    count_nodes(map, 0, count, source);
    std::map<std::string, std::string> out;
    flatten(map, "", out);
    return out;
  } catch (const YAML::Exception& error) {
    throw usage_error("config", "{}:{}: no map of options: {}", source, error.mark.line + 1, error.msg);
  }
}

}  // namespace octet
