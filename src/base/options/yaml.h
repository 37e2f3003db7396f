#pragma once

#include <map>
#include <string>
#include <vector>

#include "src/base/options/schema.h"

namespace octet {

/// Sets the options that a YAML file gives; the others keep their values. The file is one map of top-level options and
/// sections, each section a map of its options (an empty section is allowed). Throws a usage error that names file,
/// line, key and what was expected for a file that cannot be read, is empty or no YAML, unknown and duplicate keys
/// (with the nearest known key), wrong types and values out of range. `missing`: takes required members of a list's
/// elements that are not there, a line each (Place::missing); null: they are errors.
void read_yaml_file(Schema& schema, const std::string& path, std::vector<std::string>* missing = nullptr);
/// The same from text; `source` stands for the file in messages.
void read_yaml_text(Schema& schema, const std::string& text, const std::string& source);
/// The same, but keys that the schema does not have are collected in `unknown` ("section.key", or the section) instead
/// of refused: for a text that another version of the program wrote.
void read_yaml_known(Schema& schema, const std::string& text, const std::string& source,
                     std::vector<std::string>& unknown);
/// The same from a node, whose options are named below `place.key` in messages.
void read_map(Schema& schema, const YAML::Node& map, const Place& place);

/// One value as text from the command line: lists in YAML's flow style ([a, b]), all else as it stands.
void read_argument(Option& option, const std::string& text);
/// The values of an option that only a command line has, as they stand: one, or of Option::several the whole list.
void read_words(Option& option, const std::vector<std::string>& texts);
/// The same as read_argument, of an option that was given by its former name.
void read_former_argument(Option& option, const std::string& text);

/// The options of a YAML file as text, with no schema that knows them: "section.key" to its value, a scalar as it
/// stands and a list in YAML's flow style. `source` stands for the file in messages. Throws a usage error with file and
/// line where the text is no YAML or no map.
std::map<std::string, std::string> flat_yaml(const std::string& text, const std::string& source);

}  // namespace octet
