#pragma once

#include "src/run_config/run_config.h"
#include "src/train/start/rank_context.h"
#include "src/train/step/trainer.h"

namespace octet {

// A new run may begin with weights that are there already (init.from): of a Hugging Face folder, a checkpoint, or a
// run.

/// Checks them on rank 0, for all (initial_weights_check.h), and reads the weights into the trainer, of whose layout
/// each rank reads what it holds; a checkpoint is verified before: of a run the newest whole one counts, and is looked
/// at too. Does nothing where init.from is empty. The data's tokenizer is that of config.data.history. Throws as
/// files::read_together too. Collective over `control`.
void load_initial_weights(const RunConfig& config, const RankContext& context, Trainer& trainer);

}  // namespace octet
