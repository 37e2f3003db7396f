#include "jobs/run/saved_run.h"

#include <vector>

#include "checkpoints/format/manifest.h"
#include "checkpoints/restore/restore.h"
#include "src/train/options/schedule_check.h"
#include "src/train/options/settings_check.h"
#include "src/train/start/misplaced_checkpoint.h"

namespace octet {

std::optional<SavedRun> newest_saved(const RunConfig& now) {
  if (now.run_dir.empty()) return std::nullopt;
  const std::vector<std::string> saved = checkpoint::list_checkpoints(now.run_dir + "/checkpoints");
  if (saved.empty()) {
    refuse_misplaced_checkpoint(now.run_dir, now.run_dir + "/checkpoints", now.init.from);
    return std::nullopt;
  }
  const checkpoint::RunState state = checkpoint::read_manifest(saved.front()).state;
  std::vector<std::string> unknown;
  check_settings(state.config, saved.front(), now, unknown);
  check_length(state.step, now, saved.front());
  SavedRun run{.directory = saved.front(), .step = state.step, .then = stored_config(state.config, saved.front(), now)};
  extensions_after(run.then, now, run.step, run.directory);  // refuses a schedule that cannot be extended so
  return run;
}

}  // namespace octet
