#include "src/tuning/cost_model/size_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "src/base/error.h"
#include "src/base/options/text.h"

namespace octet {
namespace {

constexpr std::string_view powers = "KMGT";

}  // namespace

std::int64_t parse_size(std::string_view text, std::string_view option) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  std::string_view unit = text.substr(digits);
  int shift = 0;
  if (!unit.empty()) {
    const std::size_t power = powers.find(unit.front());
    const std::string_view rest = unit.substr(1);
    if (power == std::string_view::npos || (!rest.empty() && rest != "iB")) shift = -1;
    if (shift == 0) shift = 10 * (static_cast<int>(power) + 1);
  }
  std::int64_t bytes = 0;
  if (shift < 0 || !parse(text.substr(0, digits), bytes) || bytes < 1 ||
      __builtin_mul_overflow(bytes, std::int64_t{1} << shift, &bytes)) {
    throw usage_error("tuning",
                      "{} \"{}\": expected bytes as a whole number, or with K, M, G or T for powers of 1024, as in 64M",
                      option, text);
  }
  return bytes;
}

std::string size_text(std::int64_t bytes) {
  double value = static_cast<double>(bytes);
  std::size_t power = 0;
  while (value >= 1024 && power < powers.size()) {
    value /= 1024;
    ++power;
  }
  if (power == 0) return fmt::format("{} B", bytes);
  return fmt::format("{:.4g} {}iB", value, powers[power - 1]);
}

double parse_measured(std::string_view text, double us_at_one_gbs) {
  constexpr std::array<std::pair<std::string_view, double>, 2> times{{{"us", 1}, {"ms", 1000}}};
  double value = 0;
  for (const auto& [unit, us] : times) {
    if (text.ends_with(unit) && parse(text.substr(0, text.size() - unit.size()), value) && value > 0) return value * us;
  }
  constexpr std::string_view rate = "GB/s";
  if (text.ends_with(rate) && parse(text.substr(0, text.size() - rate.size()), value) && value > 0) {
    return us_at_one_gbs / value;
  }
  throw usage_error("tuning", "--measured \"{}\": expected a time or a bus bandwidth, as in 45us, 1.2ms or 210GB/s",
                    text);
}

}  // namespace octet
