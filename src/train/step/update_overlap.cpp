#include "src/train/step/update_overlap.h"

#include <utility>

#include "src/base/log.h"
#include "src/optim/adamw.h"

namespace octet {

UpdateOverlap::UpdateOverlap(const OptimizerConfig& config, const std::string& obstacle, const Device& device)
    : config_(config),
      multiprocessors_(device.multiprocessors()),
      logs_(device.has_memory()),
      may_be_beside_(decided(config.beside_forward, device.type() == DeviceType::cuda)) {
  if (!may_be_beside_ || obstacle.empty()) return;
  may_be_beside_ = false;
  if (logs_) log::info("optimizer.beside_forward = {}: off: {}", config.beside_forward, obstacle);
}

void UpdateOverlap::log_changes(bool beside, bool gemms_leave_room) {
  if (!may_be_beside_ || !logs_ || logged_ == beside) return;
  const bool changed = std::exchange(logged_, beside).has_value();
  if (!beside) {
    log::info("optimizer.beside_forward = {}: off: passes are graphs", config_.beside_forward);
    return;
  }
  const std::int64_t all = multiprocessors_,
                     free = gemms_leave_room ? gemm_multiprocessors_during_update(config_, all) : 0;
  log::info("weights are updated beside the next step's forward pass{}{}{}",
            changed ? " from now on, since passes are no graphs any more" : "",
            all == 0 ? "" : fmt::format(", on {} of {} multiprocessors", update_multiprocessors(config_, all), all),
            free == 0 ? "" : fmt::format("; its GEMMs are chosen for {}", free));
}

}  // namespace octet
