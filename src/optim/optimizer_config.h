#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/named_enum.h"

namespace octet {

/// What multiprocessors of a GPU the GEMMs beside an update are chosen for: those that it leaves, or all. automatic:
/// free where beside_forward is true and a rank updates weights whole; of several shards the update is short.
enum class BesideGemms : std::uint8_t { automatic, free, all };
constexpr auto names_of(BesideGemms) {
  return std::to_array<std::string_view>({"auto", "free", "all"});
}

struct OptimizerConfig {
  double lr = 3e-4;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double eps = 1e-8;
  double weight_decay = 0.1;
  double clip_norm = 1.0;  ///< 0: no clipping
  /// Parameters (substring of the name) without weight decay; none by default, as torchtitan.
  std::vector<std::string> no_decay;
  /// The update is done beside the next step's forward pass. automatic: on a GPU, where nothing is in its way
  /// (obstacle_to_update_beside) and passes are not graphs. Off by default: on an H100 at its power limit it saves
  /// little (docs/gpu-results.md).
  AutoBool beside_forward = AutoBool::no;
  std::int64_t beside_multiprocessors = 0;  ///< of the GPU, that it then takes; 0: update_multiprocessors
  BesideGemms beside_gemms = BesideGemms::automatic;
};

/// wsd: warm-up, stable, decay.
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
  std::int64_t decay_steps = 0;  ///< wsd: length of the final linear decay; cosine decays over all that follows warm-up
  double min_lr_ratio = 0.0;
  ScheduleExtend extend = ScheduleExtend::refuse;  ///< for steps that this start adds (schedule_check.h)
  std::vector<ScheduleExtension> extensions{};  ///< those of the run so far, by rising `after`; checkpoints keep them
};

}  // namespace octet
