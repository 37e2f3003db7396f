#include "src/optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace octet {

using enum ScheduleKind;

namespace {

/// The kind's shape over `steps` steps, whose warm-up rises from the rate `from`.
double shape(const ScheduleConfig& s, double peak, double from, std::int64_t step, std::int64_t steps) {
  if (step <= s.warmup_steps) {
    return from + (peak - from) * static_cast<double>(step) / static_cast<double>(s.warmup_steps);
  }
  const std::int64_t decay = s.kind == cosine ? steps - s.warmup_steps : s.kind == wsd ? s.decay_steps : 0;
  const std::int64_t stable_until = steps - decay;
  if (decay <= 0 || step <= stable_until) return peak;
  const double progress = std::min(1.0, static_cast<double>(step - stable_until) / static_cast<double>(decay + 1));
  const double factor = s.kind == cosine ? 0.5 * (1.0 + std::cos(std::numbers::pi * progress)) : 1.0 - progress;
  return peak * (s.min_lr_ratio + (1.0 - s.min_lr_ratio) * factor);
}

}  // namespace

double learning_rate(const ScheduleConfig& s, double peak, std::int64_t step, std::int64_t steps) {
  double from = 0;         // rate of the step before this part
  std::int64_t begin = 0;  // steps before it
  bool holds = false;
  const auto rate = [&](std::int64_t at, std::int64_t end) {
    return holds ? from : shape(s, peak, from, at - begin, end - begin);
  };
  for (const ScheduleExtension& extension : s.extensions) {
    if (step <= extension.after) return rate(step, extension.after);
    from = rate(extension.after, extension.after);
    begin = extension.after;
    holds = extension.kind == ScheduleExtend::constant;
  }
  return rate(step, steps);
}

}  // namespace octet
