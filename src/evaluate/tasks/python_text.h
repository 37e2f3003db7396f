#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace octet {

// Methods of Python's str, which lm-eval-harness builds its prompts with. Texts are UTF-8.

/// len(text): code points.
std::size_t count_characters(std::string_view text);
/// text.lstrip(), text.rstrip(), text.strip(): without what str.isspace() takes.
std::string_view left_stripped(std::string_view text);
std::string_view right_stripped(std::string_view text);
std::string_view stripped(std::string_view text);
/// text.capitalize(): the first letter large (in the form of titles), all others small. None where a capital sigma
/// stands behind the first place: its small form depends on its neighbours.
std::optional<std::string> capitalized(std::string_view text);

}  // namespace octet
