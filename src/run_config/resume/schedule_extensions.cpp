#include "src/run_config/resume/schedule_extensions.h"

#include <algorithm>

#include "src/base/error.h"
#include "src/optim/schedule.h"

namespace octet {
namespace {

/// The schedule of `config` with those of the extensions that begin before its last step.
ScheduleConfig schedule_with(const RunConfig& config, const std::vector<ScheduleExtension>& extensions) {
  ScheduleConfig schedule = config.schedule;
  schedule.extensions = extensions;
  std::erase_if(schedule.extensions,
                [&](const ScheduleExtension& extension) { return extension.after >= config.train.steps; });
  return schedule;
}

/// Says whether train.steps is meant to change the learning rates: it is named itself, or the schedule is another one.
bool stretches(const RunConfig& then, const RunConfig& now) {
  const auto& allowed = now.checkpoint.allow_changes;
  const ScheduleConfig &a = then.schedule, &b = now.schedule;
  return std::ranges::find(allowed, "train.steps") != allowed.end() || a.kind != b.kind ||
         a.warmup_steps != b.warmup_steps || a.decay_steps != b.decay_steps || a.min_lr_ratio != b.min_lr_ratio;
}

void check_added(const RunConfig& then, const RunConfig& now, const std::string& source) {
  const ScheduleConfig& s = now.schedule;
  const std::int64_t added = now.train.steps - then.train.steps;
  if (s.extend != ScheduleExtend::rewarm || s.warmup_steps + s.decay_steps <= added) return;
  throw usage_error("config",
                    "{}: train.steps = {} there, {} now: schedule.extend rewarm needs schedule.warmup_steps {} + "
                    "schedule.decay_steps {} = {} steps, expected at most the {} that are added",
                    source, then.train.steps, now.train.steps, s.warmup_steps, s.decay_steps,
                    s.warmup_steps + s.decay_steps, added);
}

Error refusal(const RunConfig& then, const RunConfig& now, const RateDifference& d, const std::string& source) {
  const bool longer = now.train.steps > then.train.steps;
  return usage_error(
      "config",
      "{}: train.steps = {} there, {} now: step {}, which is done, had the learning rate {:.6g} and would have had "
      "{:.6g} ({}); {}keep train.steps = {}, or stretch the schedule on purpose with --checkpoint.allow_changes "
      "train.steps",
      source, then.train.steps, now.train.steps, d.step, d.then, d.now, name_of(now.schedule.kind),
      longer ? fmt::format("go on after step {} with --schedule.extend constant, which holds the last learning rate, "
                           "or --schedule.extend rewarm, which warms up and decays again, or ",
                           then.train.steps)
             : "",
      then.train.steps);
}

}  // namespace

std::optional<RateDifference> rate_difference(const ScheduleConfig& then, std::int64_t steps_then,
                                              const ScheduleConfig& now, std::int64_t steps_now, double peak,
                                              std::int64_t done) {
  for (std::int64_t step = 1; step <= done; ++step) {
    const double a = learning_rate(then, peak, step, steps_then), b = learning_rate(now, peak, step, steps_now);
    if (a != b) return RateDifference{step, a, b};
  }
  return std::nullopt;
}

std::vector<ScheduleExtension> extensions_after(const RunConfig& then, const RunConfig& now, std::int64_t done,
                                                const std::string& source) {
  const std::vector<ScheduleExtension>& before = then.schedule.extensions;
  if (then.train.steps == now.train.steps) return before;
  // What else has changed of the schedule is another check's matter: here both have it as it is now.
  ScheduleConfig old = now.schedule;
  old.extensions = before;
  const ScheduleConfig kept = schedule_with(now, before);
  const auto difference = rate_difference(old, then.train.steps, kept, now.train.steps, now.optimizer.lr, done);
  if (!difference) return kept.extensions;
  if (now.train.steps > then.train.steps && now.schedule.extend != ScheduleExtend::refuse) {
    check_added(then, now, source);
    std::vector<ScheduleExtension> extensions = before;
    extensions.push_back({.kind = now.schedule.extend, .after = then.train.steps});
    return extensions;
  }
  if (stretches(then, now)) return kept.extensions;
  throw refusal(then, now, *difference, source);
}

std::string schedule_text(const ScheduleConfig& s, std::int64_t steps) {
  const auto& extensions = s.extensions;
  const std::int64_t own = extensions.empty() ? steps : extensions.front().after;
  std::string text = fmt::format("{} over {} step(s)", name_of(s.kind), own);
  for (std::size_t i = 0; i < extensions.size(); ++i) {
    const std::int64_t end = i + 1 < extensions.size() ? extensions[i + 1].after : steps;
    const bool holds = extensions[i].kind == ScheduleExtend::constant;
    text += fmt::format("; then steps {} to {} {}", extensions[i].after + 1, end,
                        holds ? "hold the last learning rate" : "warm up and decay again");
  }
  return text;
}

}  // namespace octet
