#include "jobs/run/next_start.h"

#include <fmt/format.h>

#include <utility>

#include "checkpoints/format/manifest.h"
#include "checkpoints/restore/restore.h"
#include "src/data/data_stages.h"
#include "src/run_config/resume/data_history.h"
#include "src/run_config/resume/schedule_extensions.h"
#include "src/run_config/resume/setting_changes.h"
#include "src/train/start/initial_weights_check.h"
#include "src/train/start/misplaced_checkpoint.h"

namespace octet {

NextStart next_start(RunConfig config) {
  NextStart start{.config = std::move(config)};
  RunConfig& now = start.config;
  if (now.run_dir.empty()) return start;
  const std::vector<std::string> saved = checkpoint::list_checkpoints(now.run_dir + "/checkpoints");
  if (saved.empty()) {
    refuse_misplaced_checkpoint(now.run_dir, now.run_dir + "/checkpoints", now.init.from);
    return start;
  }
  start.checkpoint = saved.front();
  const checkpoint::RunState state = checkpoint::read_manifest(start.checkpoint).state;
  start.step = state.step;
  std::vector<std::string> unknown;
  check_settings(state.config, start.checkpoint, now, unknown);
  check_length(start.step, now, start.checkpoint);
  const RunConfig then = stored_config(state.config, start.checkpoint, now);
  now.schedule.extensions = extensions_after(then, now, start.step, start.checkpoint);
  now.data.history = data_history_after(then, now, start.step, start.checkpoint);
  return start;
}

std::vector<std::string> mixture_texts(const NextStart& start) {
  check_changes(start.config.data);
  return stage_texts(start.config.data);
}

std::string initial_weights_text(const NextStart& start, const std::optional<TokenizerIdentity>& data) {
  if (start.config.init.from.empty() || !start.is_new()) return "";
  check_initial_weights(start.config, data);
  return fmt::format("initial weights: those of {}", start.config.init.from);
}

}  // namespace octet
