#include "src/corpus/utf8.h"

#include <simdjson.h>

#include <algorithm>
#include <charconv>

#include "src/base/utf8_piece.h"

namespace octet {
namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";

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
    const Utf8Piece piece = first_utf8_piece(text.substr(at));
    if (!piece.good) return at;
    at += piece.bytes;
  }
  return std::nullopt;
}

std::int64_t replace_bad_utf8(std::string_view text, std::string& out) {
  out.clear();
  std::int64_t replaced = 0;
  while (!text.empty()) {
    const Utf8Piece piece = first_utf8_piece(text);
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
