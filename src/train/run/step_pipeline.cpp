#include "src/train/run/step_pipeline.h"

#include <algorithm>

#include "src/base/log.h"
#include "src/comm/host_exchange.h"
#include "src/comm/reductions.h"
#include "src/train/run/shared_warnings.h"

namespace octet {

bool reads_late(const RunConfig& config) {
  return decided(config.train.late_results, config.device == DeviceType::cuda);
}

StepPipeline::Progress StepPipeline::advance(std::int64_t step, const std::function<Wishes()>& wishes, bool settle) {
  Progress progress;
  std::vector<StepResult>& results = progress.results;
  trainer_.launch(step);
  const int stay = late_ && !settle ? 1 : 0;
  while (trainer_.under_way() > stay) results.push_back(trainer_.collect());
  progress.wishes = wishes();
  agree(results, 0, progress.wishes);
  const bool wished = progress.wishes.stop != StopReason::none || progress.wishes.checkpoint;
  if (wished && trainer_.under_way() > 0) {
    results.push_back(trainer_.collect());
    Wishes none;
    agree(results, results.size() - 1, none);
  }
  progress.settled = trainer_.under_way() == 0;
  return progress;
}

void StepPipeline::agree(std::vector<StepResult>& results, std::size_t first, Wishes& wishes) {
  const auto begin = results.begin() + static_cast<std::ptrdiff_t>(first);
  const bool found = std::any_of(begin, results.end(), [](const StepResult& r) { return r.found_any(); });
  std::int32_t flags[4] = {found ? 1 : 0, static_cast<std::int32_t>(wishes.stop), wishes.checkpoint ? 1 : 0,
                           log::SharedWarnings::any() ? 1 : 0};
  largest(flags, 4, reductions::wishes(control_));
  wishes = {.stop = static_cast<StopReason>(flags[1]), .checkpoint = flags[2] != 0};
  if (flags[3] != 0) tell_shared_warnings(control_);
  if (flags[0] == 0) return;
  std::for_each(begin, results.end(), [&](StepResult& r) { trainer_.name_non_finite(r); });
}

}  // namespace octet
