#pragma once

#include <string>

namespace YAML {
class Node;
}

namespace octet {

/// Reads the one document of a text. `source` stands for the file in messages. Throws a usage error with file and line
/// for what is no YAML, for a text without a document or with two, and for what is no text.
YAML::Node yaml_document(const std::string& text, const std::string& source);

/// Throws a usage error where the text has a byte that is not UTF-8, which no manifest could hold, or a control
/// character other than tab and line ends: YAML has none, and yaml-cpp 0.7 does not come back from a zero byte in a
/// comment.
void refuse_what_is_no_text(const std::string& text, const std::string& source);

}  // namespace octet
