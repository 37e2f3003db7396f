#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/run_config/run_config.h"

namespace octet {

/// A done step whose learning rate would have been another one.
struct RateDifference {
  std::int64_t step;
  double then, now;
};

/// The first of `done` steps whose learning rate differs, to the bit, between the schedules, each with its number of
/// steps; nothing where all of them are the same. `peak` is that of both.
std::optional<RateDifference> rate_difference(const ScheduleConfig& then, std::int64_t steps_then,
                                              const ScheduleConfig& now, std::int64_t steps_now, double peak,
                                              std::int64_t done);

/// The extensions with which a run goes on after `done` steps under other train.steps than in `then`, the settings of
/// its checkpoint (stored_config): those of `then` where no done step would have had another learning rate, else with
/// one more, of the kind of schedule.extend, where the schedule ended before. checkpoint.allow_changes for train.steps
/// or the schedule's own options lets the schedule be stretched all the same. Usage error, which begins with `source`,
/// where none of these is to be.
std::vector<ScheduleExtension> extensions_after(const RunConfig& then, const RunConfig& now, std::int64_t done,
                                                const std::string& source);

/// "cosine over 100 steps; then steps 101 to 200 hold the last learning rate".
std::string schedule_text(const ScheduleConfig& schedule, std::int64_t steps);

}  // namespace octet
