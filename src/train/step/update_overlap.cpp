#include "src/train/step/update_overlap.h"

#include <algorithm>
#include <utility>

#include "src/base/log.h"

namespace octet {
namespace {

std::int64_t update_multiprocessors(const OptimizerConfig& config, std::int64_t of_device) {
  if (config.beside_multiprocessors > 0) return std::min(config.beside_multiprocessors, of_device);
  return std::min(of_device, (of_device * 16 + 131) / 132 / 2 * 2);
}

bool gemms_leave_room(const OptimizerConfig& config, int shards) {
  if (config.beside_forward != AutoBool::yes) return false;
  return config.beside_gemms == BesideGemms::free || (config.beside_gemms == BesideGemms::automatic && shards == 1);
}

}  // namespace

GpuSplit gpu_split(const OptimizerConfig& config, int shards, std::int64_t of_device) {
  const std::int64_t update = update_multiprocessors(config, of_device), left = of_device - update;
  return {.update = update, .gemms = gemms_leave_room(config, shards) && 2 * left >= of_device ? left : 0};
}

UpdateOverlap::UpdateOverlap(const OptimizerConfig& config, int shards, const std::string& obstacle,
                             const Device& device)
    : asked_(config.beside_forward),
      multiprocessors_(device.multiprocessors()),
      split_(gpu_split(config, shards, multiprocessors_)),
      logs_(device.has_memory()),
      may_be_beside_(decided(asked_, device.type() == DeviceType::cuda)) {
  if (!may_be_beside_ || obstacle.empty()) return;
  may_be_beside_ = false;
  if (logs_) log::info("optimizer.beside_forward = {}: off: {}", asked_, obstacle);
}

std::optional<GpuSplit> UpdateOverlap::decide(bool passes_are_graphs) {
  if (!may_be_beside_) return std::nullopt;
  if (logs_) log_change(!passes_are_graphs);
  return passes_are_graphs ? std::nullopt : std::optional(split_);
}

void UpdateOverlap::log_change(bool beside) {
  if (logged_ == beside) return;
  const bool changed = std::exchange(logged_, beside).has_value();
  if (!beside) {
    log::info("optimizer.beside_forward = {}: off: passes are graphs", asked_);
    return;
  }
  const std::string of_update =
      multiprocessors_ == 0 ? "" : fmt::format(", on {} of {} multiprocessors", split_.update, multiprocessors_);
  log::info("weights are updated beside the next step's forward pass{}{}{}",
            changed ? " from now on, since passes are no graphs any more" : "", of_update,
            split_.gemms == 0 ? "" : fmt::format("; its GEMMs are chosen for {}", split_.gemms));
}

}  // namespace octet
