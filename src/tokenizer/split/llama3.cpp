#include "src/tokenizer/split/llama3.h"

namespace octet {
namespace {

using enum CodePointClass;

constexpr std::uint8_t lower(char byte) {
  return static_cast<std::uint8_t>(byte | 0x20);  // of a letter; no other byte becomes one of the letters below
}

/// (?i:'s|'t|'re|'ve|'m|'ll|'d), of which the apostrophe stands at `begin`: the end, or `begin` where there is none.
std::size_t contraction_end(std::string_view text, std::size_t begin) {
  const std::string_view rest = text.substr(begin + 1, 2);
  if (rest.empty()) return begin;
  const std::uint8_t first = lower(rest[0]);
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return begin + 2;
  if (rest.size() < 2) return begin;
  if (rest == "\u017F") return begin + 3;  // the long s is an s in Unicode's case folding
  const std::uint8_t second = lower(rest[1]);
  const bool two = ((first == 'r' || first == 'v') && second == 'e') || (first == 'l' && second == 'l');
  return two ? begin + 3 : begin;
}

bool is_space(CodePointClass type) {
  return type == space || type == line_end;
}

}  // namespace

std::size_t Llama3Split::run_end(std::string_view text, std::size_t begin, CodePointClass type) const {
  while (begin < text.size()) {
    const Character next = classes_.at(text, begin);
    if (next.type != type) break;
    begin = next.end;
  }
  return begin;
}

/// \p{N}{1,3}
std::size_t Llama3Split::number_end(std::string_view text, std::size_t begin) const {
  for (int i = 0; i < 3 && begin < text.size(); ++i) {
    const Character next = classes_.at(text, begin);
    if (next.type != number) break;
    begin = next.end;
  }
  return begin;
}

/// [^\s\p{L}\p{N}]+[\r\n]*
std::size_t Llama3Split::symbols_end(std::string_view text, std::size_t begin) const {
  return run_end(text, run_end(text, begin, other), line_end);
}

/// \s*[\r\n]+|\s+(?!\S)|\s+
std::size_t Llama3Split::spaces_end(std::string_view text, std::size_t begin) const {
  std::size_t behind_line = begin;  // the end of the last line in these spaces
  std::size_t last = begin;         // where the last space begins
  std::size_t end = begin;
  while (end < text.size()) {
    const Character next = classes_.at(text, end);
    if (!is_space(next.type)) break;
    last = end;
    end = next.end;
    if (next.type == line_end) behind_line = end;
  }
  if (behind_line > begin) return behind_line;
  return end < text.size() && last > begin ? last : end;  // the last one goes with what follows
}

std::size_t Llama3Split::piece_end(std::string_view text, std::size_t begin) const {
  const Character first = classes_.at(text, begin);
  if (first.type == letter) return run_end(text, first.end, letter);
  if (text[begin] == '\'') {
    const std::size_t end = contraction_end(text, begin);
    if (end > begin) return end;
  }
  if (first.type == number) return number_end(text, begin);
  if (first.type != line_end && first.end < text.size()) {
    const Character second = classes_.at(text, first.end);
    if (second.type == letter) return run_end(text, second.end, letter);
    if (text[begin] == ' ' && second.type == other) return symbols_end(text, second.end);
  }
  return first.type == other ? symbols_end(text, first.end) : spaces_end(text, begin);
}

std::size_t Llama3Split::last_cut(std::string_view text) const {
  for (std::size_t cut = text.size(); cut-- > 1;) {
    if (text[cut - 1] != '\n' && text[cut - 1] != '\r') continue;
    std::size_t end = 0;
    const std::uint32_t point = code_point_at(text, cut, end);
    if (point != 0xFFFD && !is_space(classes_.of(point))) return cut;  // U+FFFD: perhaps cut off
  }
  return 0;
}

}  // namespace octet
