#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace octet {

/// A character as it is, for PCRE2, within a class and outside.
std::string written_character(std::uint32_t code_point);
/// From one character to another, for a class.
std::string written_range(std::uint32_t first, std::uint32_t last);
/// \p{White_Space}, for a class. Other than PCRE2's \s it does not have U+180E.
std::string_view written_spaces();
/// All but these, for a class.
std::string_view written_no_spaces();

/// What has a property, as members of a class, or empty where the name is none that is done.
struct WrittenProperty {
  std::string members{};
  bool whole = false;  ///< PCRE2 knows all of them itself, so that \P{} is the opposite
  std::string_view pcre2{};
};
WrittenProperty written_property(std::string_view name);

}  // namespace octet
