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
  std::int64_t beside_multiprocessors = 0;  ///< of the GPU, that it then takes; 0: gpu_split decides
  BesideGemms beside_gemms = BesideGemms::automatic;
};

}  // namespace octet
