#include "src/base/utf8_piece.h"

#include <cstdint>

namespace octet {

// Unicode's table 3-7: the second byte has a range of its own behind some first ones.
Utf8Piece first_utf8_piece(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t first = byte(0);
  if (first < 0x80) return {1, true};
  if (first < 0xC2 || first > 0xF4) return {1, false};
  const std::size_t length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  std::uint8_t low = 0x80, high = 0xBF;
  if (first == 0xE0) low = 0xA0;
  if (first == 0xED) high = 0x9F;
  if (first == 0xF0) low = 0x90;
  if (first == 0xF4) high = 0x8F;
  for (std::size_t i = 1; i < length; ++i) {
    if (i == text.size() || byte(i) < low || byte(i) > high) return {i, false};
    low = 0x80;
    high = 0xBF;
  }
  return {length, true};
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const Utf8Piece piece = first_utf8_piece(text);
    if (!piece.good) return false;
    text.remove_prefix(piece.bytes);
  }
  return true;
}

}  // namespace octet
