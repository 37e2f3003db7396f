#include "src/base/options/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace octet {
namespace {

/// Names that other programs use for values of ours, too different from ours for an edit distance to find.
constexpr std::array<std::pair<std::string_view, std::string_view>, 12> other_names{{{"fp8", "float8"},
                                                                                     {"f8", "float8"},
                                                                                     {"e4m3", "float8"},
                                                                                     {"hybrid", "float8"},
                                                                                     {"bfloat16", "bf16"},
                                                                                     {"float32", "fp32"},
                                                                                     {"f32", "fp32"},
                                                                                     {"gpu", "cuda"},
                                                                                     {"full", "fp32"},
                                                                                     {"mixed", "bf16"},
                                                                                     {"dynamic", "tensorwise"},
                                                                                     {"per_token", "rowwise"}}};

template <typename T>
bool parse_integer(std::string_view text, T& value) {
  const std::string_view digits = text.substr(text.starts_with('-') ? 1 : 0);
  if (digits.empty() || (digits.size() > 1 && digits[0] == '0')) return false;
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  return result.ec == std::errc() && result.ptr == end;
}

}  // namespace

bool parse(std::string_view text, bool& value) {
  value = text == "true";
  return value || text == "false";
}
bool parse(std::string_view text, std::int32_t& value) {
  return parse_integer(text, value);
}
bool parse(std::string_view text, std::int64_t& value) {
  return parse_integer(text, value);
}
bool parse(std::string_view text, std::uint64_t& value) {
  return parse_integer(text, value);
}
bool parse(std::string_view text, double& value) {
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  return result.ec == std::errc() && result.ptr == end && std::isfinite(value);
}

std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7F) {
      out += fmt::format("\\x{:02X}", byte);
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string yaml_scalar(std::string_view text) {
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  constexpr std::string_view safe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-+";
  static const std::vector<std::string> words = {
      "null", "Null", "NULL", "true", "True", "TRUE", "false", "False", "FALSE", "yes", "Yes", "YES", "no",
      "No",   "NO",   "on",   "On",   "ON",   "off",  "Off",   "OFF",   "y",     "Y",   "n",   "N"};
  const bool plain = !text.empty() && (letters.find(text[0]) != std::string_view::npos || text[0] == '/') &&
                     text.find_first_not_of(safe) == std::string_view::npos &&
                     std::find(words.begin(), words.end(), text) == words.end();
  return plain ? std::string(text) : in_quotes(text);
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substituted, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

std::string nearest(std::string_view name, const std::vector<std::string>& candidates) {
  for (const auto& [theirs, ours] : other_names) {
    if (name == theirs && std::ranges::find(candidates, ours) != candidates.end()) return std::string(ours);
  }
  std::string best;
  std::size_t best_distance = std::numeric_limits<std::size_t>::max();
  for (const std::string& candidate : candidates) {
    std::size_t distance = edit_distance(name, candidate);
    // `lr` is meant for optimizer.lr, and train.lr too: compare the last parts alone, at the price of one edit.
    const std::string_view last = std::string_view(candidate).substr(candidate.rfind('.') + 1);
    distance = std::min(distance, 1 + edit_distance(name.substr(name.rfind('.') + 1), last));
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

namespace {

std::string_view last_part(std::string_view name) {
  return name.substr(name.rfind('.') + 1);
}

/// Whether at most a third of the letters differ, or one letter of a short name, or the letters are the same in another
/// order.
bool is_near(std::string_view a, std::string_view b) {
  const std::size_t longer = std::max(a.size(), b.size());
  return edit_distance(a, b) <= std::max<std::size_t>(1, longer / 3) || std::ranges::is_permutation(a, b);
}

}  // namespace

std::string nearest_hint(std::string_view name, const std::vector<std::string>& candidates, std::string_view mark) {
  const std::string best = nearest(name, candidates);
  const bool means = std::ranges::find(other_names, std::pair{name, std::string_view(best)}) != std::end(other_names);
  const bool near = means || is_near(name, best) || is_near(last_part(name), last_part(best));
  return best.empty() || !near ? "" : fmt::format("; nearest: {}{}", mark, best);
}

std::string joined(const std::vector<std::string>& parts, std::string_view separator) {
  return fmt::format("{}", fmt::join(parts, separator));
}

std::string alternatives(const std::vector<std::string>& parts) {
  if (parts.size() < 2) return joined(parts);
  return fmt::format("{} or {}", fmt::join(parts.begin(), parts.end() - 1, ", "), parts.back());
}

}  // namespace octet
