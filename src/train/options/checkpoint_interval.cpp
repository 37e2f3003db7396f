#include "src/train/options/checkpoint_interval.h"

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

checkpoint::Interval interval_of(const CheckpointConfig& config, int devices) {
  std::optional<checkpoint::Interval> interval = parse_interval(config.interval);
  if (!interval) throw internal_error("train", "checkpoint.interval = {}: not validated", config.interval);
  interval->failure_gpu_hours = config.failure_gpu_hours;
  interval->devices = devices;
  return *interval;
}

bool saves(const CheckpointConfig& config) {
  return interval_of(config, 1).kind != checkpoint::Interval::Kind::off;
}

checkpoint::Interval max_age_of(const CheckpointConfig& config) {
  const std::optional<checkpoint::Interval> age = parse_interval(config.max_age);
  if (!age) throw internal_error("train", "checkpoint.max_age = {}: not validated", config.max_age);
  return *age;
}

}  // namespace octet
