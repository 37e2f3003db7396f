#pragma once

#include <optional>
#include <string_view>

#include "checkpoints/interval.h"
#include "src/train/options/run_config.h"

namespace octet {

/// What checkpoint.interval may be, for help and messages.
inline constexpr const char* interval_forms =
    "\"off\", \"auto\", a number of steps (\"500\", \"500 steps\") or of minutes (\"20 min\")";

/// Reads checkpoint.interval: kind, steps and seconds. Nothing for any other text; steps are at least 1, minutes a
/// positive number, which may have a fraction.
std::optional<checkpoint::Interval> parse_interval(std::string_view text);

/// Reads checkpoint.writers_per_node: "all" as 0, or a number from 1. Nothing for any other text.
std::optional<int> parse_writers(std::string_view text);

/// Whether checkpoint.interval, of a valid configuration, is other than off.
bool saves(const CheckpointConfig& config);
/// The interval of a valid configuration on that many devices.
checkpoint::Interval interval_of(const CheckpointConfig& config, int devices);
checkpoint::Interval max_age_of(const CheckpointConfig& config);

}  // namespace octet
