#pragma once

#include <string>
#include <string_view>

#include "src/base/options/schema.h"

namespace octet {

/// The current values as a YAML file, which reads back to the same values.
std::string to_yaml(const Schema& schema);

/// The options for `--help`: by section, with type, unit, default and range, in lines of at most 100 characters.
std::string help_text(const Schema& schema);
/// The same for one of them.
std::string option_help(const Option& option);
/// The same for one section; "" has the options at the top of the file.
std::string section_help(const Schema& schema, std::string_view section);
/// A line for each section that has a name: the name and the first sentence of its help.
std::string section_list(const Schema& schema);

/// The options as Markdown: a heading and a table a section.
std::string markdown(const Schema& schema);

}  // namespace octet
