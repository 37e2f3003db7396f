#pragma once

#include <optional>

#include "src/comm/communicator.h"
#include "src/data/tokenizer_identity.h"
#include "src/train/options/run_config.h"
#include "src/train/run/run_environment.h"
#include "src/train/step/trainer.h"

namespace octet {

// A new run may begin with weights that are there already (init.from): of a Hugging Face folder, a checkpoint, or a
// run.

/// Looks whether the run can begin with the weights that init.from names, if it names any: what the folder is, whether
/// its model has the sizes of the run's, whether its tensors are there, and whether its tokenizer, where it says which,
/// is that of the data. Weights are not read, nor are a checkpoint's files verified: of a run it is the newest
/// checkpoint whose manifest can be read, and those that are newer are warned of. Usage error that names the folder and
/// each key that differs. A model that computes otherwise with the same sizes (RoPE, norm_eps) is warned of.
void check_initial_weights(const RunConfig& config, const std::optional<TokenizerIdentity>& data);

/// Does that on rank 0, for all, and reads the weights into the trainer, of whose layout each rank reads what it holds;
/// a checkpoint is verified before: of a run the newest whole one counts, and is looked at too. Does nothing where
/// init.from is empty. The data's tokenizer is that of config.data.history. Throws as checkpoint::read_together too.
/// Collective over the hosts.
void load_initial_weights(const RunConfig& config, const RunEnvironment& environment, Trainer& trainer);

}  // namespace octet
