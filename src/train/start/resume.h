#pragma once

#include <cstdint>
#include <string>

#include "checkpoints/restore/verification.h"
#include "src/train/start/rank_context.h"
#include "src/train/start/run_directory.h"
#include "src/train/step/trainer.h"

namespace octet {

/// Where a run begins.
struct StartingPoint {
  std::int64_t step = 0;               ///< finished steps
  std::string checkpoint;              ///< the directory that they come from; empty for a new run
  checkpoint::Verdicts verdicts = {};  ///< what the start has read of checkpoints
};

/// Loads the newest valid checkpoint of the run's directory, in whatever layout it was written, into the trainer, after
/// a look at whether this is the same training: configuration, seed, data, tensors. Logs what it found and what has
/// changed. Where the directory has none, the weights are those of init.from, if that is set (initial_weights.h). Usage
/// error that names key and both values where the training would be another one. Puts into `config` the history of the
/// data and the extensions of the schedule that the run goes on with (schedule_extensions.h), which the trainer gets
/// too, and the init.from that the checkpoint says. Usage error for another init.from beside a checkpoint of step 0.
/// Collective.
StartingPoint resume(RunConfig& config, const RankContext& context, const RunDirectory& run, Trainer& trainer);

}  // namespace octet
