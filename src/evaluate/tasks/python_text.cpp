#include "src/evaluate/tasks/python_text.h"

#include <algorithm>
#include <cstdint>

#include "src/evaluate/tasks/letter_cases.h"
#include "src/tokenizer/split/code_points.h"

namespace octet {
namespace {

constexpr std::uint32_t capital_sigma = 0x3A3;

bool is_space(std::uint32_t c) {
  return (c >= 0x9 && c <= 0xD) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool continues(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

void append(std::string& out, std::uint32_t c) {
  const auto put = [&](std::uint32_t byte) { out += static_cast<char>(byte); };
  if (c < 0x80) return put(c);
  if (c < 0x800) {
    put(0xC0 | c >> 6);
  } else {
    if (c < 0x10000) {
      put(0xE0 | c >> 12);
    } else {
      put(0xF0 | c >> 18);
      put(0x80 | (c >> 12 & 0x3F));
    }
    put(0x80 | (c >> 6 & 0x3F));
  }
  put(0x80 | (c & 0x3F));
}

void append_changed(std::string& out, std::uint32_t c, const CaseTable& table) {
  const auto several = std::ranges::find(table.long_ones, c, &LongCase::from);
  if (several != table.long_ones.end()) {
    out += several->to;
    return;
  }
  const auto run = std::ranges::lower_bound(table.runs, c, {}, &CaseRun::last);
  const bool in = run != table.runs.end() && c >= run->first && (c - run->first) % run->step == 0;
  append(out, in ? c + static_cast<std::uint32_t>(run->difference) : c);
}

}  // namespace

std::size_t count_characters(std::string_view text) {
  return text.size() - static_cast<std::size_t>(std::ranges::count_if(text, continues));
}

std::string_view left_stripped(std::string_view text) {
  while (!text.empty()) {
    std::size_t end = 0;
    if (!is_space(code_point_at(text, 0, end))) break;
    text.remove_prefix(end);
  }
  return text;
}

std::string_view right_stripped(std::string_view text) {
  while (!text.empty()) {
    std::size_t begin = text.size() - 1, end = 0;
    while (begin > 0 && continues(text[begin])) --begin;
    if (!is_space(code_point_at(text, begin, end))) break;
    text.remove_suffix(text.size() - begin);
  }
  return text;
}

std::string_view stripped(std::string_view text) {
  return left_stripped(right_stripped(text));
}

std::optional<std::string> capitalized(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const bool first = at == 0;
    const std::uint32_t c = code_point_at(text, at, at);
    if (!first && c == capital_sigma) return std::nullopt;
    append_changed(out, c, first ? first_letters() : small_letters());
  }
  return out;
}

}  // namespace octet
