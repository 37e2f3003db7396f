#include "jobs/dry_run/whole_run.h"

#include <fmt/format.h>

#include <cmath>

#include "src/base/error.h"
#include "src/data/data_stages.h"
#include "src/metrics/step_metrics.h"
#include "src/train/options/data_check.h"
#include "src/train/options/schedule_check.h"
#include "src/train/start/initial_weights_check.h"

namespace octet {

std::string schedule_lines(RunConfig config, const std::optional<SavedRun>& saved) {
  if (!saved) return fmt::format("learning rate: {}\n", schedule_text(config.schedule, config.train.steps));
  config.schedule.extensions = extensions_after(saved->then, config, saved->step, saved->directory);
  return fmt::format("learning rate: {}; goes on after step {} of {}\n",
                     schedule_text(config.schedule, config.train.steps), saved->step, saved->directory);
}

std::string mixture_lines(RunConfig config, const std::optional<SavedRun>& saved) {
  config.data.history = saved ? data_history_after(saved->then, config, saved->step, saved->directory) : DataHistory{};
  check_changes(config.data);
  std::string text;
  for (const std::string& change : stage_texts(config.data)) text += fmt::format("data: {}\n", change);
  return text;
}

std::string weights_lines(const RunConfig& config, const std::optional<SavedRun>& saved) {
  if (config.init.from.empty() || saved) return "";
  check_initial_weights(config, std::nullopt);
  return fmt::format("initial weights: those of {}\n", config.init.from);
}

std::string all_steps_text(const RunConfig& config, std::int64_t gpus, double step_seconds) {
  const auto steps = static_cast<double>(config.train.steps);
  const double tokens = static_cast<double>(config.train.global_batch) * static_cast<double>(config.train.seq_len);
  const double hours = steps * step_seconds / 3600;
  return fmt::format(
      "{} steps of {} tokens: {} tokens in at least {:.1f} hours ({:.1f} days) and {} GPU hours, without "
      "validation, "
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
