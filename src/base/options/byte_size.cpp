#include "src/base/options/byte_size.h"

#include <algorithm>
#include <optional>

#include "src/base/error.h"
#include "src/base/options/text.h"

namespace octet {
namespace {

/// What a unit multiplies; nothing for what is none.
std::optional<std::int64_t> factor_of(std::string_view unit) {
  if (unit.empty() || unit == "B") return 1;
  constexpr std::string_view powers = "KMGT", small = "kmgt";
  const bool letter = unit.size() == 1;
  const std::size_t power =
      letter && powers.find(unit[0]) == std::string_view::npos ? small.find(unit[0]) : powers.find(unit[0]);
  const std::string_view rest = unit.substr(1);
  if (power == std::string_view::npos || (!rest.empty() && rest != "B" && rest != "iB")) return std::nullopt;
  std::int64_t factor = 1;
  for (std::size_t i = 0; i <= power; ++i) factor *= rest == "B" ? 1000 : 1024;
  return factor;
}

std::optional<std::int64_t> bytes_of(std::string_view text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::size_t unit = std::min(text.find_first_not_of(' ', digits), text.size());
  const std::optional<std::int64_t> factor = factor_of(text.substr(unit));
  if (!factor || (unit == text.size() && unit > digits)) return std::nullopt;
  const std::string_view number = text.substr(0, digits);
  std::int64_t whole = 0;
  if (parse(number, whole)) {
    return __builtin_mul_overflow(whole, *factor, &whole) ? std::nullopt : std::optional(whole);
  }
  double value = 0;
  if (*factor == 1 || number.find('.') == std::string_view::npos || !parse(number, value)) return std::nullopt;
  value *= static_cast<double>(*factor);
  return value < 0x1p62 ? std::optional(static_cast<std::int64_t>(value)) : std::nullopt;
}

}  // namespace

std::int64_t parse_bytes(std::string_view text, std::string_view option) {
  const std::optional<std::int64_t> bytes = bytes_of(text);
  if (bytes && *bytes >= 1) return *bytes;
  throw usage_error("config",
                    "{} = {}: expected bytes, at least 1, such as 4096, 64K, 1.5M, 2GiB (powers of 1024) or 500MB "
                    "(powers of 1000)",
                    option, in_quotes(text));
}

}  // namespace octet
