#pragma once

#include <span>
#include <string_view>

#include "src/tokenizer/split/code_point_ranges.h"

namespace octet {

/// A property of characters that patterns may ask for.
struct CharacterProperty {
  std::string_view name;                  ///< as it stands in \p{}: a category or a script of Unicode
  std::string_view pcre2;                 ///< how PCRE2 calls it: its \p{Han} is what scripts share with others too
  std::span<const CodePointRange> added;  ///< which characters have it in Unicode 16.0 and not yet in 14.0
};

/// All of them that are done. Categories of which Unicode has taken a character away since 14.0 are none of them: Mn, C
/// and Cn.
std::span<const CharacterProperty> character_properties();

}  // namespace octet
