#include "jobs/dry_run/run_lines.h"

#include <fmt/format.h>

#include <cmath>

#include "src/metrics/step_metrics.h"
#include "src/run_config/resume/schedule_extensions.h"

namespace octet {

std::string schedule_line(const NextStart& start) {
  const std::string schedule = schedule_text(start.config.schedule, start.config.train.steps);
  if (start.is_new()) return fmt::format("learning rate: {}\n", schedule);
  return fmt::format("learning rate: {}; goes on after step {} of {}\n", schedule, start.step, start.checkpoint);
}

std::string mixture_lines(const NextStart& start) {
  std::string text;
  for (const std::string& change : mixture_texts(start)) text += fmt::format("data: {}\n", change);
  return text;
}

std::string weights_line(const NextStart& start) {
  const std::string text = initial_weights_text(start, std::nullopt);
  return text.empty() ? "" : text + "\n";
}

std::string all_steps_text(const RunConfig& config, std::int64_t gpus, double step_seconds) {
  const auto steps = static_cast<double>(config.train.steps);
  const double tokens = static_cast<double>(config.train.global_batch) * static_cast<double>(config.train.seq_len);
  const double hours = steps * step_seconds / 3600;
  return fmt::format(
      "{} steps of {} tokens: {} tokens in at least {:.1f} hours ({:.1f} days) and {} GPU hours, without validation, "
      "checkpoints and stops\n",
      grouped(steps), grouped(tokens), grouped(steps * tokens), hours, hours / 24,
      grouped(std::ceil(hours * static_cast<double>(gpus))));
}

std::string checkpoints_text(const RunConfig& config) {
  if (config.checkpoint.interval == "off") return "no checkpoints: checkpoint.interval is off\n";
  constexpr double bytes_a_parameter = 12;
  const double gib = static_cast<double>(config.model.parameters()) * bytes_a_parameter / 0x1p30;
  const std::int64_t every = config.checkpoint.keep_every;
  return fmt::format(
      "a checkpoint: {:.1f} GiB in all; the last {} stay{}\n", gib, config.checkpoint.keep,
      every > 0 ? fmt::format(", and those of every {} steps", grouped(static_cast<double>(every))) : "");
}

}  // namespace octet
