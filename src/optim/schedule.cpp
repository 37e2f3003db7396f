#include "src/optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace octet {

using enum ScheduleKind;

double learning_rate(const ScheduleConfig& s, double peak, std::int64_t step, std::int64_t steps) {
  if (step <= s.warmup_steps) return peak * static_cast<double>(step) / static_cast<double>(s.warmup_steps);
  const std::int64_t decay = s.kind == cosine ? steps - s.warmup_steps : s.kind == wsd ? s.decay_steps : 0;
  const std::int64_t stable_until = steps - decay;
  if (decay <= 0 || step <= stable_until) return peak;
  const double progress = std::min(1.0, static_cast<double>(step - stable_until) / static_cast<double>(decay + 1));
  const double factor = s.kind == cosine ? 0.5 * (1.0 + std::cos(std::numbers::pi * progress)) : 1.0 - progress;
  return peak * (s.min_lr_ratio + (1.0 - s.min_lr_ratio) * factor);
}

}  // namespace octet
