#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoints/format/format.h"
#include "checkpoints/format/manifest.h"
#include "checkpoints/save/saver.h"
#include "src/comm/mesh.h"
#include "src/run_config/run_config.h"
#include "src/train/step/sharded_model.h"

namespace octet {

/// Everything that a checkpoint of the model holds, whatever the layout: fp32 master, first and second moment of every
/// parameter, named "master/NAME", "first_moment/NAME", "second_moment/NAME"; and the state of a float8 recipe that has
/// one ("float8/..."), whole on every rank.
std::vector<checkpoint::StoredTensor> stored_tensors(const ParameterList& model, const Float8Scaling& scaling);

/// This rank's pieces of them, without padding; those of replicas are equal. The pointers are the model's own.
std::vector<checkpoint::DevicePiece> held_pieces(ShardedModel& model);

/// Host memory that checkpoints of that run on that mesh take on the rank whose model this is: what its saver keeps
/// (Saver::host_bytes), or what reading a checkpoint needs before that, whichever is more. Of several replicas the rank
/// that saves most is meant. `leads`: for rank 0, which plans for all ranks; an upper bound where not all ranks have as
/// many pieces. What the manifest takes for a while is not counted.
std::int64_t checkpoint_host_bytes(ShardedModel& model, const RunConfig& config, const MeshShape& mesh, bool leads);

/// Reads this rank's pieces from a checkpoint whose files were verified into the model, then lets the model know. Usage
/// error that names directory and tensor when the checkpoint holds other tensors. A recipe's state begins anew where
/// the checkpoint has none, or with `same_recipe` false; the log says so. Throws as files::read_together over
/// `control`; where that is null each rank reads for itself. Collective.
void load_state(ShardedModel& model, const std::string& directory, const checkpoint::Manifest& manifest, Stream& stream,
                bool same_recipe = true, Communicator* control = nullptr);

}  // namespace octet
