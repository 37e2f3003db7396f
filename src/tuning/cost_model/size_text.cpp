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
