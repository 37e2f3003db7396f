#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "checkpoints/save/checkpoint_config.h"
#include "src/run_config/run_config.h"

namespace octet {

/// What checkpoint.interval may be, for help and messages.
inline constexpr const char* interval_forms =
    "\"off\", \"auto\", a number of steps (\"500\", \"500 steps\") or of minutes (\"20 min\")";

/// Reads checkpoint.interval: kind, steps and seconds. Nothing for any other text; steps are at least 1, minutes a
/// positive number, which may have a fraction.
std::optional<checkpoint::Interval> parse_interval(std::string_view text);

/// Reads checkpoint.writers_per_node: "all" as 0, or a number from 1. Nothing for any other text.
std::optional<int> parse_writers(std::string_view text);

/// Says whether checkpoint.interval, of a valid configuration, is other than off.
bool saves(const CheckpointConfig& config);
/// The interval of a valid configuration on that many devices.
checkpoint::Interval interval_of(const CheckpointConfig& config, int devices);
checkpoint::Interval max_age_of(const CheckpointConfig& config);

/// Reads parallel.pp_layout: "auto" as an empty list, or the blocks of each stage, at least 1, with commas between.
/// Nothing for any other text.
std::optional<std::vector<std::int64_t>> parse_pp_layout(std::string_view text);

/// Steps that are profiled; none where `last` is 0.
struct ProfileSteps {
  static constexpr std::int64_t most = 20;  ///< spans are held in memory until the last one

  std::int64_t first = 0, last = 0;
  bool none() const { return last == 0; }
  std::int64_t count() const { return none() ? 0 : last - first + 1; }
};

/// Reads train.profile: "off", or "A-B" with steps from 1. Nothing for any other text; that A is not above B is for
/// validate() to say.
std::optional<ProfileSteps> parse_profile_steps(std::string_view text);

/// Reads train.max_wall_time into seconds: minutes ("90", "0.5") or "H:MM:SS", minutes and seconds of two digits below
/// 60. Nothing for any other text.
std::optional<double> parse_wall_time(std::string_view text);

}  // namespace octet
