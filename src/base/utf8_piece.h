#pragma once

#include <cstddef>
#include <string_view>

namespace octet {

/// The first piece of a text: a UTF-8 character of `bytes` bytes, or, where `good` is false, `bytes` bytes that are
/// none.
struct Utf8Piece {
  std::size_t bytes;
  bool good;
};

/// By RFC 3629: no surrogates, nothing above U+10FFFF, no long forms. What is no character is the longest beginning of
/// one, or one byte, as Unicode recommends (chapter 3.9, "maximal subparts"). The text is not empty.
Utf8Piece first_utf8_piece(std::string_view text);

/// Says whether a text is UTF-8 throughout.
bool is_utf8(std::string_view text);

}  // namespace octet
