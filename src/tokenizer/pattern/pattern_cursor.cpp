#include "src/tokenizer/pattern/pattern_cursor.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "src/tokenizer/pattern/pattern_writer.h"
#include "src/tokenizer/split/code_points.h"

namespace octet {

bool PatternCursor::take(std::string_view text) {
  if (!at(text)) return false;
  place_ += text.size();
  return true;
}

std::string PatternCursor::rest(std::size_t most) const {
  std::size_t end = place_;
  for (; most > 0 && end < pattern_.size(); --most) code_point_at(pattern_, end, end);
  return std::string(pattern_.substr(place_, end - place_));
}

std::optional<std::string> PatternCursor::take_one_of(std::string_view characters) {
  if (at_end() || characters.find(peek()) == std::string_view::npos) return std::nullopt;
  return std::string(1, pattern_[place_++]);
}

std::uint32_t PatternCursor::character() {
  const std::size_t begin = place_;
  const std::uint32_t c = code_point_at(pattern_, begin, place_);
  if (c >= 0x80 && place_ == begin + 1) refuse("", "it is no UTF-8");
  return c;
}

int PatternCursor::number() {
  int value = 0;
  const char* begin = pattern_.data() + place_;
  const auto [end, error] = std::from_chars(begin, pattern_.data() + pattern_.size(), value);
  if (error == std::errc::invalid_argument || at("-")) return -1;
  if (error != std::errc()) refuse("{", "the number is too large");
  place_ += static_cast<std::size_t>(end - begin);
  return value;
}

std::optional<std::string> PatternCursor::interval(int most) {
  const std::size_t begin = place_;
  if (!take("{")) return std::nullopt;
  const int least = number();
  const bool comma = take(",");
  const int largest = comma ? number() : -1;
  if ((least < 0 && largest < 0) || !take("}")) {
    go_back(begin);
    return std::nullopt;
  }
  if (std::max(least, largest) > most) refuse(since(begin), fmt::format("at most {} is supported", most));
  if (!comma) return fmt::format("{{{}}}", least);
  if (largest < 0) return fmt::format("{{{},}}", least);
  if (largest < least) refuse(since(begin), "the least comes first");
  return fmt::format("{{{},{}}}", std::max(least, 0), largest);
}

std::optional<PatternCursor::Set> PatternCursor::escaped_set() {
  if (const auto space = take_one_of("sS")) {
    return Set{.members = std::string(written_spaces()),
               .negated = *space == "S",
               .is_space = true,
               .opposite = std::string(written_no_spaces())};
  }
  if (const auto digit = take_one_of("dD")) {
    return Set{.members = written_property("Nd").members, .negated = *digit == "D"};
  }
  if (take("p{")) return property(false);
  if (take("P{")) return property(true);
  return std::nullopt;
}

PatternCursor::Set PatternCursor::property(bool negated) {
  if (take("^")) negated = !negated;
  const std::size_t close = pattern_.find('}', place_);
  const std::string_view name = pattern_.substr(place_, close == std::string_view::npos ? close : close - place_);
  const WrittenProperty found = written_property(name);
  if (close == std::string_view::npos || found.members.empty()) {
    refuse("\\p{" + std::string(name),
           "the only properties supported are the categories of Unicode by their short names (without Mn, C, Cn) and "
           "some scripts");
  }
  place_ = close + 1;
  Set out{.members = found.members, .negated = negated};
  if (found.whole) out.opposite = fmt::format("\\P{{{}}}", found.pcre2);
  return out;
}

std::uint32_t PatternCursor::hexadecimal(std::size_t least, std::size_t most) {
  std::uint32_t value = 0;
  std::size_t digits = 0;
  while (digits < most && !at_end()) {
    const char c = peek();
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) break;
    value = value << 4 | static_cast<std::uint32_t>(digit);
    ++digits;
    ++place_;
  }
  if (digits < least) refuse("\\x", "it lacks digits");
  if (value > 0x10FFFF || (value >= 0xD800 && value < 0xE000)) refuse("\\x", "it is no character");
  return value;
}

std::uint32_t PatternCursor::escaped_character() {
  if (at_end()) refuse("\\", "nothing stands behind it");
  constexpr std::pair<char, std::uint32_t> controls[] = {{'t', 0x09}, {'v', 0x0B}, {'n', 0x0A}, {'r', 0x0D},
                                                         {'f', 0x0C}, {'a', 0x07}, {'e', 0x1B}};
  for (const auto& [letter, control] : controls) {
    if (take(std::string_view(&letter, 1))) return control;
  }
  if (take("u")) return hexadecimal(4, 4);
  if (take("x{")) {
    const std::uint32_t c = hexadecimal(1, 6);
    if (!take("}")) refuse("\\x{", "it is not closed");
    return c;
  }
  if (take("x")) {
    const std::uint32_t c = hexadecimal(2, 2);
    if (c >= 0x80) refuse("\\x", "above 7F that is a byte, not a character");
    return c;
  }
  const auto c = static_cast<unsigned char>(peek());
  const bool word = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  if (word)
    refuse("\\" + rest(1), "the only letters supported here are p, P, s, S, d, D, t, n, r, f, v, a, e, x, u, A, z, Z");
  return character();
}

void PatternCursor::refuse(std::string_view part, std::string_view why) const {
  throw Refused{fmt::format("{} at its byte {}: {}", part, place_, why)};
}

}  // namespace octet
