#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace octet {

// The byte-level alphabet in which a tokenizer.json spells tokens (that of GPT-2): each byte stands as one character.
// Bytes 21 to 7E, A1 to AC and AE to FF (hexadecimal) are the code point of that number; the other 68, in ascending
// order, are U+0100, U+0101 and so on.

/// The bytes in the order of their characters' code points.
const std::array<std::uint8_t, 256>& bytes_by_code_point();

/// Any bytes, spelled in that alphabet, as UTF-8.
std::string spell_bytes(std::string_view bytes);

/// The bytes that are spelled so; nothing where a character is none of the alphabet, or where it is not UTF-8.
std::optional<std::string> bytes_spelled(std::string_view text);

}  // namespace octet
