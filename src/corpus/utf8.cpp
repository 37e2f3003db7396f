#include "src/corpus/utf8.h"

#include <simdjson.h>

#include <algorithm>
#include <charconv>

namespace octet {
namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";

/// What text begins with: a character of `bytes` bytes, or as many that are none.
struct Piece {
  std::size_t bytes;
  bool good;
};

/// Unicode's table 3-7: the second byte has a range of its own behind some first ones.
Piece first_piece(std::string_view text) {
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

/// The code unit of the escape \uXXXX that stands at `at`; nothing where none does.
std::optional<unsigned> escaped_unit(std::string_view line, std::size_t at) {
  if (at + 6 > line.size() || line[at] != '\\' || line[at + 1] != 'u') return std::nullopt;
  unsigned unit = 0;
  const char* const end = line.data() + at + 6;
  const auto [stop, error] = std::from_chars(line.data() + at + 2, end, unit, 16);
  if (error != std::errc() || stop != end) return std::nullopt;
  return unit;
}

}  // namespace

std::optional<std::size_t> find_bad_utf8(std::string_view text) {
  if (simdjson::validate_utf8(text.data(), text.size())) return std::nullopt;
  std::size_t at = 0;
  while (at < text.size()) {
    const Piece piece = first_piece(text.substr(at));
    if (!piece.good) return at;
    at += piece.bytes;
  }
  return std::nullopt;
}

std::int64_t replace_bad_utf8(std::string_view text, std::string& out) {
  out.clear();
  std::int64_t replaced = 0;
  while (!text.empty()) {
    const Piece piece = first_piece(text);
    out += piece.good ? text.substr(0, piece.bytes) : replacement;
    replaced += piece.good ? 0 : 1;
    text.remove_prefix(piece.bytes);
  }
  return replaced;
}

std::int64_t mend_json(std::string_view line, std::string& out) {
  std::string text;
  std::int64_t replaced = replace_bad_utf8(line, text);
  out.clear();
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t escape = std::min(text.find('\\', at), text.size());
    out.append(text, at, escape - at);
    at = escape;
    if (at == text.size()) break;
    const std::optional<unsigned> unit = escaped_unit(text, at);
    std::size_t length = 2;  // \\ and \" too
    if (unit && *unit >= 0xD800 && *unit <= 0xDBFF) {
      const std::optional<unsigned> other = escaped_unit(text, at + 6);
      length = other && *other >= 0xDC00 && *other <= 0xDFFF ? 12 : 0;
    } else if (unit && *unit >= 0xDC00 && *unit <= 0xDFFF) {
      length = 0;
    }
    if (length == 0) {
      out += replacement;
      ++replaced;
      at += 6;
    } else {
      out.append(text, at, length);
      at += std::min(length, text.size() - at);
    }
  }
  return replaced;
}

}  // namespace octet
