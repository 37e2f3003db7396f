#pragma once

#include <cstdint>
#include <string>

#include "src/optim/schedule_config.h"

namespace octet {

/// Over which steps the rate of a kind falls: none, the last ScheduleConfig::decay_steps, or all that follow warm-up.
enum class Decay : std::uint8_t { never, last_steps, after_warm_up };
Decay decay_of(ScheduleKind kind);

/// The names of the kinds with this decay, "wsd", for messages and help.
std::string kinds_with(Decay decay);
/// "wsd: stable, then ...", a sentence for each kind that its name does not explain.
std::string schedule_kinds_help();

/// Learning rate of step `step` (1-based) of `steps`. Warm-up is linear and reaches the peak at warmup_steps; `wsd`
/// then stays and falls linearly over the last decay_steps, `cosine` falls over all that remains; every decay ends at
/// min_lr_ratio · peak as if one more step followed, so that no step has a rate of 0 (torchtitan's virtual last step).
///
/// With extensions the schedule's own `steps` end at the first one. A `constant` extension holds the rate of the step
/// before it. A `rewarm` extension is the whole schedule once more over the added steps, whose warm-up rises from the
/// rate of the step before. So the rate depends on nothing but these arguments, which checkpoints hold.
double learning_rate(const ScheduleConfig& schedule, double peak, std::int64_t step, std::int64_t steps);

}  // namespace octet
