#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "checkpoints/format/format.h"
#include "checkpoints/format/manifest.h"
#include "checkpoints/hugging_face/import.h"
#include "checkpoints/save/saver.h"
#include "src/comm/mesh.h"
#include "src/parallel/sharded_parameters.h"
#include "src/tensor/shard.h"
#include "src/train/options/run_config.h"
#include "src/train/step/sharded_model.h"

namespace octet {

/// Everything that a checkpoint of the model holds, whatever the layout: fp32 master, first and second moment of every
/// parameter, named "master/NAME", "first_moment/NAME", "second_moment/NAME"; and the state of a float8 recipe that has
/// one ("float8/..."), whole on every rank.
std::vector<checkpoint::StoredTensor> stored_tensors(const ParameterList& model, const Float8Scaling& scaling);

/// This rank's pieces of them, without padding; those of replicas are equal. The pointers are the model's own.
std::vector<checkpoint::DevicePiece> held_pieces(ShardedModel& model);

/// Host memory that checkpoints of that run on that mesh take on the rank whose model this is: the snapshot of what it
/// saves, or what reading goes through before that, whichever is more; of replicas of the rank that saves most. The
/// manifest is not counted.
std::int64_t checkpoint_host_bytes(ShardedModel& model, const RunConfig& config, const MeshShape& mesh);

/// Reads this rank's pieces from a checkpoint whose files were verified into the model, then lets the model know. Usage
/// error that names directory and tensor when the checkpoint holds other tensors. A recipe's state begins anew where
/// the checkpoint has none, or with `same_recipe` false; the log says so. Throws as files::read_together over
/// `hosts`; where that is null each rank reads for itself. Collective.
void load_state(ShardedModel& model, const std::string& directory, const checkpoint::Manifest& manifest, Stream& stream,
                bool same_recipe = true, Communicator* hosts = nullptr);

/// What weights have to be: those that a run begins with finite, those that are evaluated whatever they are.
enum class Weights : std::uint8_t { any, finite };

/// The masters alone, into a buffer of their own. Usage error as load_state where the checkpoint lacks one of them,
/// and, of all ranks together, one that names the tensor where a weight is not finite that has to be. Collective.
void load_masters(const ParameterList& list, const ShardedBuffer& master, const std::string& directory,
                  const checkpoint::Manifest& manifest, Stream& stream, Communicator* hosts,
                  Weights expected = Weights::any);
/// Reads the masters out of a Hugging Face folder: each rank reads the rows that it has a piece of. Throws as
/// files::read_together. Collective.
void load_masters(const ParameterList& list, const ShardedBuffer& master, const checkpoint::HuggingFaceModel& from,
                  Stream& stream, Communicator& hosts, Weights expected = Weights::any);
/// What a shard covers of its tensor.
checkpoint::Box box_of(const Shard& shard);

/// A piece that this rank has of a parameter, and where its fp32 elements go in host memory, dense and row-major.
struct HostPiece {
  const ParameterSpec& parameter;
  checkpoint::Box box;
  float* data;
};

/// Calls `read` with all of this rank's pieces that have elements, and puts what it has read into the buffer. On a GPU
/// they go through host memory of that size, which ends here; on the CPU `read` writes to the buffer itself.
void fill_pieces(const ParameterList& list, const ShardedBuffer& buffer, Stream& stream,
                 const std::function<void(std::span<const HostPiece>)>& read);

}  // namespace octet
