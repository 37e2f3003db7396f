#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "src/device/device.h"
#include "src/optim/optimizer_config.h"

namespace octet {

/// Where a run's weights are updated, beside the next step's forward pass or after their own step, and what the log
/// says of it. On a device without memory nothing is said: a plan is no run.
class UpdatePlace {
 public:
  /// The log says why updates cannot be beside, where that was asked for or is a GPU's default.
  UpdatePlace(const OptimizerConfig& config, const std::string& obstacle, const Device& device);

  /// With passes that are no graphs.
  bool may_be_beside() const { return may_be_beside_; }
  /// For every step, when it is known whether its update will be beside, and whether the GEMMs of forward passes leave
  /// room for it. The log has it with the first step, and again where it changes: passes may stop being graphs.
  void tell(bool beside, bool leaves_room);

 private:
  const OptimizerConfig& config_;
  std::int64_t multiprocessors_;
  bool speaks_, may_be_beside_;
  std::optional<bool> told_;
};

}  // namespace octet
