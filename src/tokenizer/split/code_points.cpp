#include "src/tokenizer/split/code_points.h"

#include <algorithm>

#include "src/tokenizer/split/code_point_ranges.h"

namespace octet {
namespace {

// \p{White_Space}, without CR and LF.
constexpr CodePointRange spaces[] = {{0x09, 0x09},     {0x0B, 0x0C},     {0x20, 0x20},     {0x85, 0x85},
                                     {0xA0, 0xA0},     {0x1680, 0x1680}, {0x2000, 0x200A}, {0x2028, 0x2029},
                                     {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000}};
constexpr CodePointRange line_ends[] = {{'\n', '\n'}, {'\r', '\r'}};

constexpr std::uint32_t replacement = 0xFFFD;

/// How many bytes a character has that begins with `first`, which is not ASCII; 0: none begins so.
std::size_t length_of(std::uint8_t first) {
  if (first < 0xC2 || first > 0xF4) return 0;
  return first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
}

}  // namespace

CodePointClasses::CodePointClasses()
    : classes_(std::max(letter_ranges().back().last, number_ranges().back().last) + 1, CodePointClass::other) {
  const auto set = [&](std::span<const CodePointRange> ranges, CodePointClass type) {
    for (const CodePointRange& range : ranges) {
      std::fill(classes_.begin() + range.first, classes_.begin() + range.last + 1, type);
    }
  };
  set(letter_ranges(), CodePointClass::letter);
  set(number_ranges(), CodePointClass::number);
  set(spaces, CodePointClass::space);
  set(line_ends, CodePointClass::line_end);
}

const CodePointClasses& CodePointClasses::get() {
  static const CodePointClasses classes;
  return classes;
}

Character CodePointClasses::long_one_at(std::string_view text, std::size_t begin) const {
  std::size_t end = 0;
  const std::uint32_t point = code_point_at(text, begin, end);
  return {of(point), end};
}

std::uint32_t code_point_at(std::string_view text, std::size_t begin, std::size_t& end) {
  const auto first = static_cast<std::uint8_t>(text[begin]);
  end = begin + 1;
  if (first < 0x80) return first;
  const std::size_t length = length_of(first);
  if (length == 0 || begin + length > text.size()) return replacement;
  std::uint32_t point = first & (0x7Fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    const auto byte = static_cast<std::uint8_t>(text[begin + i]);
    if ((byte & 0xC0) != 0x80) return replacement;
    point = point << 6 | (byte & 0x3F);
  }
  end = begin + length;
  return point;
}

}  // namespace octet
