#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "src/base/named_enum.h"

namespace octet {

/// The shape of the learning rate after its warm-up; wsd: warm-up, stable, decay. schedule.cpp has a row for each.
enum class ScheduleKind : std::uint8_t { constant, wsd, cosine };
constexpr auto names_of(ScheduleKind) {
  return std::to_array<std::string_view>({"constant", "wsd", "cosine"});
}

/// How a schedule goes on for steps that are added to it once a learning rate that depends on its end has been used.
enum class ScheduleExtend : std::uint8_t { refuse, constant, rewarm };
constexpr auto names_of(ScheduleExtend) {
  return std::to_array<std::string_view>({"refuse", "constant", "rewarm"});
}

/// Steps that were added to a schedule: those after step `after`, up to the next extension or the end of the run.
struct ScheduleExtension {
  ScheduleExtend kind = ScheduleExtend::constant;  ///< never refuse
  std::int64_t after = 0;                          ///< where the schedule ended before

  bool operator==(const ScheduleExtension&) const = default;
};

struct ScheduleConfig {
  ScheduleKind kind = ScheduleKind::wsd;
  std::int64_t warmup_steps = 0;
  std::int64_t decay_steps = 0;  ///< length of the final decay of a kind whose Decay is last_steps
  double min_lr_ratio = 0.0;
  ScheduleExtend extend = ScheduleExtend::refuse;  ///< for steps that this start adds (schedule_extensions.h)
  std::vector<ScheduleExtension> extensions{};  ///< those of the run so far, by rising `after`; checkpoints keep them
};

}  // namespace octet
