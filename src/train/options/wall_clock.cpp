#include "src/train/options/wall_clock.h"

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "src/base/options/text.h"

namespace octet {
namespace {

using Clock = std::chrono::steady_clock;
const Clock::time_point program_start = Clock::now();  // when the program was loaded

constexpr double most_seconds = 1e9;

bool only_digits(std::string_view text) {
  return !text.empty() && text.size() <= 6 && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

int number(std::string_view digits) {
  int value = 0;
  for (const char c : digits) value = value * 10 + (c - '0');
  return value;
}

}  // namespace

std::optional<double> parse_wall_time(std::string_view text) {
  double minutes = 0;
  if (parse(text, minutes)) {
    return minutes >= 0 && minutes * 60 <= most_seconds ? std::optional(minutes * 60) : std::nullopt;
  }
  const std::size_t first = text.find(':');
  if (first == std::string_view::npos || text.size() != first + 6 || text[first + 3] != ':') return std::nullopt;
  const std::string_view h = text.substr(0, first), m = text.substr(first + 1, 2), s = text.substr(first + 4, 2);
  if (!only_digits(h) || !only_digits(m) || !only_digits(s) || number(m) > 59 || number(s) > 59) return std::nullopt;
  const double seconds = number(h) * 3600.0 + number(m) * 60 + number(s);
  return seconds <= most_seconds ? std::optional(seconds) : std::nullopt;
}

double WallClock::seconds() {
  return std::chrono::duration<double>(Clock::now() - program_start).count();
}

}  // namespace octet
