#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoints/save/save_interval.h"
#include "src/base/named_enum.h"

namespace octet {

/// What a run does about the newest valid checkpoint in its folder. never: the run is refused where there is one.
/// automatic: it goes on from it. must: the run is refused where there is none.
enum class Resume : std::uint8_t { never, automatic, must };
constexpr auto names_of(Resume) {
  return std::to_array<std::string_view>({"never", "auto", "must"});
}

/// These options say when a run saves its state, what stays, and whether it goes on from what it finds.
struct CheckpointConfig {
  std::string interval = "auto";  ///< "off", "auto", "N", "N steps", "N min" (option_texts.h)
  std::string max_age = "auto";   ///< forms of interval; auto: twice the interval
  std::int64_t keep = 3;          ///< newest whole checkpoints that stay
  std::int64_t keep_every = 0;    ///< and those of every multiple of this step; 0: none
  Resume resume = Resume::automatic;
  double failure_gpu_hours = checkpoint::default_failure_gpu_hours;  ///< of interval auto
  bool test_write = false;                                           ///< one after the first step of every start
  std::string writers_per_node = "all";                              ///< or a number (option_texts.h)
  std::vector<std::string> allow_changes;  ///< options that a run may go on with other values of (resume_rules.h)
};

}  // namespace octet
