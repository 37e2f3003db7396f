#pragma once

#include <map>
#include <string>

namespace octet {

/// The options of a YAML file as text, with no schema that knows them: "section.key" to its value, a scalar as it
/// stands and a list in YAML's flow style. `source` stands for the file in messages. Throws a usage error with file and
/// line where the text is no YAML or no map.
std::map<std::string, std::string> flat_yaml(const std::string& text, const std::string& source);

}  // namespace octet
