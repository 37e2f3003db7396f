#include "src/tokenizer/byte_alphabet.h"

namespace octet {
namespace {

constexpr bool stands_for_itself(int byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || (byte >= 0xAE && byte <= 0xFF);
}

struct Alphabet {
  std::array<std::uint8_t, 256> by_code_point{};
  std::array<std::uint16_t, 256> code_point{};   ///< of a byte
  std::array<std::int16_t, 256 + 68> byte_of{};  ///< of a code point; -1: none

  constexpr Alphabet() {
    byte_of.fill(-1);
    std::size_t place = 0;
    for (int byte = 0; byte < 256; ++byte) {
      if (stands_for_itself(byte)) set(byte, byte, place++);
    }
    int next = 0x100;
    for (int byte = 0; byte < 256; ++byte) {
      if (!stands_for_itself(byte)) set(byte, next++, place++);
    }
  }

 private:
  constexpr void set(int byte, int point, std::size_t place) {
    by_code_point[place] = static_cast<std::uint8_t>(byte);
    code_point[static_cast<std::size_t>(byte)] = static_cast<std::uint16_t>(point);
    byte_of[static_cast<std::size_t>(point)] = static_cast<std::int16_t>(byte);
  }
};
constexpr Alphabet alphabet;

}  // namespace

const std::array<std::uint8_t, 256>& bytes_by_code_point() {
  return alphabet.by_code_point;
}

std::string spell_bytes(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) {
    const unsigned point = alphabet.code_point[static_cast<std::uint8_t>(byte)];
    if (point < 0x80) {
      text += static_cast<char>(point);
    } else {
      text += static_cast<char>(0xC0 | point >> 6);
      text += static_cast<char>(0x80 | (point & 0x3F));
    }
  }
  return text;
}

std::optional<std::string> bytes_spelled(std::string_view text) {
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned point = static_cast<std::uint8_t>(text[i]);
    if (point >= 0x80) {  // of two bytes, since the alphabet ends at U+0143
      if (point < 0xC2 || point > 0xDF || i + 1 == text.size()) return std::nullopt;
      const unsigned second = static_cast<std::uint8_t>(text[++i]);
      if ((second & 0xC0) != 0x80) return std::nullopt;
      point = (point & 0x1F) << 6 | (second & 0x3F);
    }
    if (point >= alphabet.byte_of.size() || alphabet.byte_of[point] < 0) return std::nullopt;
    bytes += static_cast<char>(alphabet.byte_of[point]);
  }
  return bytes;
}

}  // namespace octet
