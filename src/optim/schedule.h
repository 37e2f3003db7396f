#pragma once

#include <cstdint>

#include "src/optim/optimizer_config.h"

namespace octet {

/// Learning rate of step `step` (1-based) of `steps`. Warm-up is linear and reaches the peak at warmup_steps; `wsd`
/// then stays and falls linearly over the last decay_steps, `cosine` falls over all that remains; both end at
/// min_lr_ratio · peak as if one more step followed, so that no step has a rate of 0 (torchtitan's virtual last step).
double learning_rate(const ScheduleConfig& schedule, double peak, std::int64_t step, std::int64_t steps);

}  // namespace octet
