#include "src/base/printable.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdint>

#include "src/base/utf8_piece.h"

namespace octet {
namespace {

enum class Kind { lines, line };

std::string spelled_byte(char c) {
  return fmt::format("\\x{:02x}", static_cast<std::uint8_t>(c));
}

/// A character of one byte.
std::string spelled_ascii(char c, Kind kind) {
  if (c == '\n') return kind == Kind::line ? "\\n" : "\n";
  if (c == '\t') return kind == Kind::line ? "\\t" : "\t";
  if (c == '\x7F') return "\\u007f";
  return static_cast<std::uint8_t>(c) < 0x20 ? spelled_byte(c) : std::string(1, c);
}

/// Bytes that are no character.
std::string spelled_bytes(std::string_view bytes, Kind kind) {
  std::string out;
  for (const char c : bytes) {
    const bool stays = kind == Kind::lines && static_cast<std::uint8_t>(c) >= 0xA0;
    out += stays ? std::string(1, c) : spelled_byte(c);
  }
  return out;
}

std::string spelled(std::string_view text, Kind kind) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Utf8Piece piece = first_utf8_piece(text);
    const std::string_view bytes = text.substr(0, piece.bytes);
    if (!piece.good) {
      out += spelled_bytes(bytes, kind);
    } else if (piece.bytes == 1) {
      out += spelled_ascii(bytes[0], kind);
    } else if (piece.bytes == 2 && bytes[0] == '\xC2' && static_cast<std::uint8_t>(bytes[1]) < 0xA0) {
      out += fmt::format("\\u00{:02x}", static_cast<std::uint8_t>(bytes[1]));  // U+0080 to U+009F
    } else {
      out += bytes;
    }
    text.remove_prefix(piece.bytes);
  }
  return out;
}

}  // namespace

std::string printable(std::string_view text) {
  return spelled(text, Kind::lines);
}

std::string readable(std::string_view text) {
  return spelled(text, Kind::line);
}

std::string printable_on_terminal(std::string_view text) {
  return isatty(STDOUT_FILENO) != 0 ? printable(text) : std::string(text);
}

std::string cut_off(std::string text, std::size_t most) {
  if (text.size() <= most) return text;
  std::size_t end = most;
  while (end > 0 && (static_cast<std::uint8_t>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end) + "...";
}

}  // namespace octet
