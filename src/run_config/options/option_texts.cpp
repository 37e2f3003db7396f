#include "src/run_config/options/option_texts.h"

#include <algorithm>
#include <charconv>

#include "src/base/error.h"
#include "src/base/options/text.h"

namespace octet {

std::optional<checkpoint::Interval> parse_interval(std::string_view text) {
  using Kind = checkpoint::Interval::Kind;
  constexpr std::int64_t most_steps = 1'000'000'000;
  constexpr double most_minutes = 1e6;
  checkpoint::Interval interval;
  if (text == "off") return interval;
  if (text == "auto") {
    interval.kind = Kind::automatic;
    return interval;
  }
  const std::size_t space = text.find(' ');
  const std::string_view number = text.substr(0, space);
  const std::string_view unit = space == std::string_view::npos ? "steps" : text.substr(space + 1);
  if (unit == "steps" && parse(number, interval.steps)) {
    interval.kind = Kind::steps;
    if (interval.steps >= 1 && interval.steps <= most_steps) return interval;
  }
  double minutes = 0;
  if (unit == "min" && parse(number, minutes) && minutes > 0 && minutes <= most_minutes) {
    interval.kind = Kind::seconds;
    interval.seconds = minutes * 60;
    return interval;
  }
  return std::nullopt;
}

std::optional<int> parse_writers(std::string_view text) {
  constexpr std::int64_t most_writers = 1 << 20;
  std::int64_t writers = 0;
  if (text == "all") return 0;
  if (!parse(text, writers) || writers < 1 || writers > most_writers) return std::nullopt;
  return static_cast<int>(writers);
}

std::optional<std::vector<std::int64_t>> parse_pp_layout(std::string_view text) {
  std::vector<std::int64_t> blocks;
  if (text == "auto") return blocks;
  for (;;) {
    const std::size_t comma = std::min(text.find(','), text.size());
    std::string_view number = text.substr(0, comma);
    while (number.starts_with(' ')) number.remove_prefix(1);
    while (number.ends_with(' ')) number.remove_suffix(1);
    std::int64_t n = 0;
    if (!parse(number, n) || n < 1) return std::nullopt;
    blocks.push_back(n);
    if (comma == text.size()) return blocks;
    text.remove_prefix(comma + 1);
  }
}

namespace {

checkpoint::Interval valid_interval(const char* key, const std::string& text) {
  if (const auto interval = parse_interval(text)) return *interval;
  throw internal_error("config", "checkpoint.{} = {}: not validated", key, text);
}

}  // namespace

checkpoint::Interval interval_of(const CheckpointConfig& config, int devices) {
  checkpoint::Interval interval = valid_interval("interval", config.interval);
  interval.failure_gpu_hours = config.failure_gpu_hours;
  interval.devices = devices;
  return interval;
}

bool saves(const CheckpointConfig& config) {
  return interval_of(config, 1).kind != checkpoint::Interval::Kind::off;
}

checkpoint::Interval max_age_of(const CheckpointConfig& config) {
  return valid_interval("max_age", config.max_age);
}

namespace {

std::optional<std::int64_t> parse_step(std::string_view text) {
  std::int64_t step = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), step);
  if (error != std::errc() || end != text.data() + text.size() || step < 1) return std::nullopt;
  return step;
}

}  // namespace

std::optional<ProfileSteps> parse_profile_steps(std::string_view text) {
  if (text == "off") return ProfileSteps{};
  const auto dash = text.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto first = parse_step(text.substr(0, dash)), last = parse_step(text.substr(dash + 1));
  if (!first || !last) return std::nullopt;
  return ProfileSteps{.first = *first, .last = *last};
}

namespace {

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

}  // namespace octet
