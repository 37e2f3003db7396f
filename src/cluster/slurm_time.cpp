#include "src/cluster/slurm_time.h"

#include <string>
#include <vector>

#include "src/base/error.h"
#include "src/base/options/text.h"

namespace octet {
namespace {

constexpr std::int64_t most = 100'000'000;  // of each number, so that sums fit; three years in seconds

/// The numbers between colons; empty where a part is none. Leading zeros are usual here: "08:00:00".
std::vector<std::int64_t> numbers(std::string_view text) {
  std::vector<std::int64_t> out = {0};
  bool digits = false;
  for (const char c : text) {
    if (c == ':' && digits) {
      out.push_back(0);
      digits = false;
    } else if (c >= '0' && c <= '9' && out.back() < most) {
      out.back() = out.back() * 10 + (c - '0');
      digits = true;
    } else {
      return {};
    }
  }
  return digits ? out : std::vector<std::int64_t>{};
}

}  // namespace

std::int64_t parse_slurm_time(std::string_view text, std::string_view origin) {
  const std::size_t dash = text.find('-');
  const bool has_days = dash != std::string_view::npos;
  const std::vector<std::int64_t> days = numbers(has_days ? text.substr(0, dash) : "0");
  const std::vector<std::int64_t> rest = numbers(has_days ? text.substr(dash + 1) : text);
  std::int64_t seconds = 0;
  if (days.size() == 1 && !rest.empty() && rest.size() <= 3) {
    std::int64_t unit = has_days ? 3600 : rest.size() == 3 ? 3600 : 60;
    seconds = days[0] * 86400;
    for (const std::int64_t n : rest) {
      seconds += n * unit;
      unit /= 60;
    }
  }
  if (seconds > 0) return seconds;
  throw usage_error("cluster", "{}: {}: expected a time above zero: minutes, H:MM:SS, D-H, D-H:MM or D-H:MM:SS", origin,
                    in_quotes(text));
}

}  // namespace octet
