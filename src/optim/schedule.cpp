#include "src/optim/schedule.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <string_view>
#include <vector>

#include "src/base/options/text.h"

namespace octet {
namespace {

/// What is said and computed of a kind of schedule.
struct KindRow {
  ScheduleKind kind;
  Decay decay;
  /// What is left of the fall from the peak to the lowest rate after the part `progress` of the decay; 1 at 0, 0 at 1.
  double (*left)(double progress);
  std::string_view help;  ///< empty where the name says all
};

constexpr std::array kinds{
    KindRow{ScheduleKind::constant, Decay::never, [](double) { return 1.0; }, ""},
    KindRow{ScheduleKind::wsd, Decay::last_steps, [](double progress) { return 1.0 - progress; },
            "stable, then a linear decay over the last decay_steps."},
    KindRow{ScheduleKind::cosine, Decay::after_warm_up,
            [](double progress) { return 0.5 * (1.0 + std::cos(std::numbers::pi * progress)); },
            "decays from the warm-up to the end."},
};

constexpr bool every_kind_has_its_row() {
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (kinds[i].kind != static_cast<ScheduleKind>(i)) return false;
  }
  return kinds.size() == names_of(ScheduleKind{}).size();
}
static_assert(every_kind_has_its_row(), "the rows have the order of ScheduleKind");

const KindRow& row_of(ScheduleKind kind) {
  return kinds[static_cast<std::size_t>(kind)];
}

std::int64_t decay_length(const ScheduleConfig& s, std::int64_t steps) {
  switch (decay_of(s.kind)) {
    case Decay::never:
      break;
    case Decay::last_steps:
      return s.decay_steps;
    case Decay::after_warm_up:
      return steps - s.warmup_steps;
  }
  return 0;
}

/// The kind's shape over `steps` steps, whose warm-up rises from the rate `from`.
double shape(const ScheduleConfig& s, double peak, double from, std::int64_t step, std::int64_t steps) {
  if (step <= s.warmup_steps) {
    return from + (peak - from) * static_cast<double>(step) / static_cast<double>(s.warmup_steps);
  }
  const std::int64_t decay = decay_length(s, steps);
  const std::int64_t stable_until = steps - decay;
  if (decay <= 0 || step <= stable_until) return peak;
  const double progress = std::min(1.0, static_cast<double>(step - stable_until) / static_cast<double>(decay + 1));
  return peak * (s.min_lr_ratio + (1.0 - s.min_lr_ratio) * row_of(s.kind).left(progress));
}

}  // namespace

Decay decay_of(ScheduleKind kind) {
  return row_of(kind).decay;
}

std::string kinds_with(Decay decay) {
  std::vector<std::string> names;
  for (const KindRow& row : kinds) {
    if (row.decay == decay) names.emplace_back(name_of(row.kind));
  }
  return joined(names);
}

std::string schedule_kinds_help() {
  std::vector<std::string> sentences;
  for (const KindRow& row : kinds) {
    if (!row.help.empty()) sentences.push_back(fmt::format("{}: {}", row.kind, row.help));
  }
  return joined(sentences, " ");
}

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
