#include "src/corpus/python_json.h"

#include <algorithm>
#include <array>

namespace octet {
namespace {

constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// How many digits a text begins with.
std::size_t digits(std::string_view text) {
  const auto* const end = std::ranges::find_if_not(text, is_digit);
  return static_cast<std::size_t>(end - text.begin());
}

/// How many bytes of a text are the number, as JSON has it, that it begins with; 0 where it begins with none.
std::size_t number_at(std::string_view text) {
  std::size_t size = text.starts_with('-') ? 1 : 0;
  const std::size_t whole = digits(text.substr(size));
  if (whole == 0 || (whole > 1 && text[size] == '0')) return 0;
  size += whole;
  if (size < text.size() && text[size] == '.') {
    const std::size_t fraction = digits(text.substr(size + 1));
    if (fraction == 0) return 0;
    size += 1 + fraction;
  }
  if (size < text.size() && (text[size] == 'e' || text[size] == 'E')) {
    std::size_t exponent = size + 1;
    if (exponent < text.size() && (text[exponent] == '+' || text[exponent] == '-')) ++exponent;
    const std::size_t power = digits(text.substr(exponent));
    if (power == 0) return 0;
    size = exponent + power;
  }
  return size;
}

/// The bytes of the string that a text begins with, with both quotes.
std::size_t string_at(std::string_view text) {
  for (std::size_t at = 1; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text[at] == '"') {
      return at + 1;
    }
  }
  return text.size();
}

}  // namespace

std::string without_python_numbers(std::string_view json) {
  constexpr auto words = std::to_array<std::string_view>({"NaN", "Infinity", "-Infinity"});
  std::string mended(json);
  for (std::size_t at = 0; at < json.size();) {
    const std::string_view left = json.substr(at);
    std::size_t size = 1;
    std::string_view instead;
    if (left[0] == '"') {
      size = string_at(left);
    } else if (const auto* const word = std::ranges::find_if(words, [&](auto w) { return left.starts_with(w); });
               word != words.end()) {
      size = word->size();
      instead = "[]";  // which is no key, and no end of a number before it
    } else if (const std::size_t number = number_at(left); number > 0) {
      size = number;
      instead = "0";
    }
    if (!instead.empty()) mended.replace(at, size, std::string(instead) + std::string(size - instead.size(), ' '));
    at += size;
  }
  return mended;
}

}  // namespace octet
