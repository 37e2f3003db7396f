#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "src/train/options/run_config.h"

namespace octet {

/// What a run that is started now would go on from, as far as its newest checkpoint's manifest says it; which one is
/// whole, the run finds out.
struct SavedRun {
  std::string directory;  ///< of the checkpoint
  std::int64_t step = 0;
  RunConfig then;  ///< its settings; what it does not say is as now
};

/// Nothing where run.dir holds no checkpoint. Usage error for a manifest that cannot be read, for settings with which
/// the run would refuse to go on, and for a checkpoint that stands where the run would not find it: told here, they
/// cost no time in a queue.
std::optional<SavedRun> newest_saved(const RunConfig& now);

}  // namespace octet
