#include "src/tokenizer/pattern/pattern_writer.h"

#include <fmt/format.h>

#include "src/tokenizer/pattern/added_characters.h"

namespace octet {
namespace {

bool stands_for_itself(std::uint32_t c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

}  // namespace

std::string written_character(std::uint32_t code_point) {
  if (stands_for_itself(code_point)) return std::string(1, static_cast<char>(code_point));
  return fmt::format("\\x{{{:X}}}", code_point);
}

std::string written_range(std::uint32_t first, std::uint32_t last) {
  if (first == last) return written_character(first);
  return written_character(first) + "-" + written_character(last);
}

std::string_view written_spaces() {
  return R"(\x{9}-\x{D}\x{20}\x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000})";
}

std::string_view written_no_spaces() {
  return R"(\x{0}-\x{8}\x{E}-\x{1F}\x{21}-\x{84}\x{86}-\x{9F}\x{A1}-\x{167F}\x{1681}-\x{1FFF}\x{200B}-\x{2027})"
         R"(\x{202A}-\x{202E}\x{2030}-\x{205E}\x{2060}-\x{2FFF}\x{3001}-\x{10FFFF})";
}

WrittenProperty written_property(std::string_view name) {
  for (const CharacterProperty& property : character_properties()) {
    if (property.name != name) continue;
    WrittenProperty out{
        .members = fmt::format("\\p{{{}}}", property.pcre2), .whole = property.added.empty(), .pcre2 = property.pcre2};
    for (const CodePointRange& range : property.added) out.members += written_range(range.first, range.last);
    return out;
  }
  return {};
}

}  // namespace octet
