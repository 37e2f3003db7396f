#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "src/device/device.h"
#include "src/optim/optimizer_config.h"

namespace octet {

/// Who gets a GPU's multiprocessors while weights are updated beside a forward pass; 0 stands for all of them.
struct GpuSplit {
  std::int64_t update = 0;  ///< AdamWUpdate::multiprocessors of the update
  std::int64_t gemms = 0;   ///< Gemm::multiprocessors of the forward pass
  bool operator==(const GpuSplit&) const = default;
};

/// The split of a device's `of_device` multiprocessors, 0 for a CPU. `shards`: between how many weights are cut.
///
/// The update takes as few as make no step longer than more of them do. They are 16 of the 132 of an H100, where that
/// was measured (docs/gpu-results.md), and as many in proportion on other devices, always an even number, as the
/// update's blocks go in pairs; beside_multiprocessors names another number. GEMMs are chosen for the others where
/// beside_gemms says so, unless these are fewer than half of the device's; and only with beside_forward = true, since
/// with `auto` passes may be graphs, beside which nothing is updated.
GpuSplit gpu_split(const OptimizerConfig& config, int shards, std::int64_t of_device);

/// Decides whether a run's weights are updated beside the next step's forward pass or within their own step, and which
/// part of the GPU each of the two has then. Says so in the log, but on a device without memory: a plan is no run.
class UpdateOverlap {
 public:
  /// `obstacle`: why updates cannot be beside, or empty. The log says it where that was asked for or is a GPU's
  /// default. `shards`: as gpu_split has them.
  UpdateOverlap(const OptimizerConfig& config, int shards, const std::string& obstacle, const Device& device);

  /// The split for every step's first forward pass, even where no update is under way beside it. It depends on the
  /// configuration and the device alone, so that a run that goes on has the GEMMs of one that never stopped.
  const GpuSplit& split() const { return split_; }
  /// Where the update of a step goes: beside, with the split, or within the step, always while passes are graphs. To be
  /// called in every step, when its passes have been launched: they may stop being graphs. Logs it with the first step,
  /// and again where it changes.
  std::optional<GpuSplit> decide(bool passes_are_graphs);

 private:
  void log_change(bool beside);

  AutoBool asked_;  ///< optimizer.beside_forward
  std::int64_t multiprocessors_;
  GpuSplit split_;
  bool logs_, may_be_beside_;
  std::optional<bool> logged_;
};

}  // namespace octet
