#include "src/train/run/step_queue.h"

#include <algorithm>
#include <array>

#include "src/base/log.h"
#include "src/comm/control_exchange.h"
#include "src/train/run/shared_warnings.h"

namespace octet {

bool reads_late(const RunConfig& config) {
  return decided(config.train.late_results, config.device == DeviceType::cuda);
}

StepQueue::Progress StepQueue::advance(std::int64_t step, const std::function<Requests()>& requests, bool drain) {
  Progress progress;
  std::vector<StepResult>& results = progress.results;
  trainer_.launch(step);
  const int stay = late_ && !drain ? 1 : 0;
  while (trainer_.under_way() > stay) results.push_back(trainer_.collect());
  progress.requests = agree(results, requests());
  if (progress.requests.any() && trainer_.under_way() > 0) {
    results.push_back(trainer_.collect());
    agree({&results.back(), 1}, {});  // on what this step found: its requests have been agreed on
  }
  progress.drained = trainer_.under_way() == 0;
  return progress;
}

Requests StepQueue::agree(std::span<StepResult> results, const Requests& own) {
  const bool found = std::ranges::any_of(results, [](const StepResult& r) { return r.found_any(); });
  std::array<std::int32_t, 4> flags = {found ? 1 : 0, static_cast<std::int32_t>(own.stop), own.checkpoint ? 1 : 0,
                                       log::SharedWarnings::any() ? 1 : 0};
  largest(flags.data(), flags.size(), control_);
  const auto [any_found, stop, checkpoint, any_warnings] = flags;
  if (any_warnings != 0) tell_shared_warnings(control_);
  if (any_found != 0) {
    for (StepResult& result : results) trainer_.name_non_finite(result);
  }
  return {.stop = static_cast<StopReason>(stop), .checkpoint = checkpoint != 0};
}

}  // namespace octet
