#include "jobs/train/saved_run.h"

#include <vector>

#include "checkpoints/manifest.h"
#include "checkpoints/restore.h"
#include "src/train/options/settings_check.h"

namespace octet {

std::optional<SavedRun> newest_saved(const RunConfig& now) {
  if (now.run_dir.empty()) return std::nullopt;
  const std::vector<std::string> saved = checkpoint::list_checkpoints(now.run_dir + "/checkpoints");
  if (saved.empty()) return std::nullopt;
  const checkpoint::RunState state = checkpoint::read_manifest(saved.front()).state;
  std::vector<std::string> unknown;
  check_settings(state.config, saved.front(), now, unknown);
  check_length(state.step, now, saved.front());
  return SavedRun{
      .directory = saved.front(), .step = state.step, .then = stored_config(state.config, saved.front(), now)};
}

}  // namespace octet
