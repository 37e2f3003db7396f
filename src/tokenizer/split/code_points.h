#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace octet {

/// What the patterns of tokenizers tell characters apart by.
enum class CodePointClass : std::uint8_t {
  other,
  letter,    ///< \p{L}
  number,    ///< \p{N}
  space,     ///< \p{White_Space} other than line_end
  line_end,  ///< CR, LF
};

/// A character of a text.
struct Character {
  CodePointClass type = CodePointClass::other;
  std::size_t end = 0;  ///< offset of the byte behind it
};

/// The classes of all code points (Unicode 16.0). Any thread.
class CodePointClasses {
 public:
  static const CodePointClasses& get();

  CodePointClass of(std::uint32_t code_point) const {
    return code_point < classes_.size() ? classes_[code_point] : CodePointClass::other;
  }

  /// The character that begins at `begin` in UTF-8 text. A byte that begins none there, or that is cut off by the end
  /// of the text, counts as one of the class `other`.
  Character at(std::string_view text, std::size_t begin) const {
    const auto first = static_cast<std::uint8_t>(text[begin]);
    if (first < 0x80) return {classes_[first], begin + 1};
    return long_one_at(text, begin);
  }

 private:
  CodePointClasses();
  Character long_one_at(std::string_view text, std::size_t begin) const;

  std::vector<CodePointClass> classes_;  ///< [code point]; those beyond are other
};

/// The code point of that character, which must be whole, and U+FFFD for what is none.
std::uint32_t code_point_at(std::string_view text, std::size_t begin, std::size_t& end);

}  // namespace octet
