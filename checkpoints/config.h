#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoints/interval.h"
#include "src/base/named_enum.h"

namespace octet {

/// Whether a run goes on from the newest valid checkpoint in its folder: refused where there is one, where there is
/// one, refused where there is none.
enum class Resume : std::uint8_t { never, automatic, must };
constexpr auto names_of(Resume) {
  return std::to_array<std::string_view>({"never", "auto", "must"});
}

/// When a run saves its state, what stays, and whether it goes on from what it finds.
struct CheckpointConfig {
  std::string interval = "auto";  ///< "off", "auto", "N", "N steps", "N min" (checkpoint_interval.h)
  std::string max_age = "auto";   ///< forms of interval; auto: twice the interval
  std::int64_t keep = 3;          ///< newest whole checkpoints that stay
  std::int64_t keep_every = 0;    ///< and those of every multiple of this step; 0: none
  Resume resume = Resume::automatic;
  double failure_gpu_hours = checkpoint::default_failure_gpu_hours;  ///< of interval auto
  bool test_write = false;                                           ///< one after the first step of every start
  std::string writers_per_node = "all";                              ///< or a number (checkpoint_interval.h)
  std::vector<std::string> allow_changes;  ///< options that a run may go on with other values of (settings_check.h)
};

}  // namespace octet
