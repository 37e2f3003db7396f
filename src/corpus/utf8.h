#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace octet {

/// The first byte at which a text is no UTF-8 (RFC 3629: no surrogates, nothing above U+10FFFF, no long forms).
std::optional<std::size_t> find_bad_utf8(std::string_view text);

/// Writes the text to `out` with U+FFFD for each piece that is no UTF-8; how many there were. A piece is the longest
/// beginning of a character, or one byte, as Unicode recommends (chapter 3.9, "maximal subparts") and as Python's
/// errors="replace" does it.
std::int64_t replace_bad_utf8(std::string_view text, std::string& out);

/// Writes a line of JSON to `out` with U+FFFD for each piece that is no UTF-8 and for each escape of half a surrogate
/// pair (\ud800 without its other half); how many there were.
std::int64_t mend_json(std::string_view line, std::string& out);

}  // namespace octet
