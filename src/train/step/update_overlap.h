#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "src/device/device.h"
#include "src/optim/optimizer_config.h"

namespace octet {

/// Decides whether a run's weights are updated beside the next step's forward pass or within their own step, and says
/// in the log which. On a device without memory nothing is logged: a plan is no run.
class UpdateOverlap {
 public:
  /// The log says why updates cannot be beside, where that was asked for or is a GPU's default.
  UpdateOverlap(const OptimizerConfig& config, const std::string& obstacle, const Device& device);

  /// Whether an update is beside: never while passes are graphs.
  bool beside(bool passes_are_graphs) const { return may_be_beside_ && !passes_are_graphs; }
  /// To be called in every step, when it is known whether its update will be beside, and whether the GEMMs of forward
  /// passes leave room for it. Logs that with the first step, and again where it changes: passes may stop being graphs.
  void log_changes(bool beside, bool gemms_leave_room);

 private:
  OptimizerConfig config_;
  std::int64_t multiprocessors_;
  bool logs_, may_be_beside_;
  std::optional<bool> logged_;
};

}  // namespace octet
