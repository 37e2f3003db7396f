#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoints/format/format.h"
#include "checkpoints/format/manifest.h"
#include "checkpoints/hugging_face/import.h"
#include "checkpoints/restore/resharding.h"
#include "src/comm/communicator.h"
#include "src/parallel/sharded_parameters.h"
#include "src/tensor/shard.h"
#include "src/train/step/staging.h"

namespace octet {

/// What weights have to be: those that a run begins with finite, those that are evaluated whatever they are.
enum class Weights : std::uint8_t { any, finite };

/// A verified checkpoint, whose tensors are read by pieces, and as many of its files as stay open meanwhile. `control`:
/// null where each rank reads for itself.
struct CheckpointSource {
  const std::string& directory;
  const checkpoint::Manifest& manifest;
  Communicator* control;
  checkpoint::OpenShards shards{};

  /// Throws as files::read_together over `control`. Collective.
  void read(const std::vector<checkpoint::WantedPiece>& wanted);
};

/// The masters alone, into a buffer of their own. Usage error as load_state where the checkpoint lacks one of them,
/// and, of all ranks together, one that names the tensor where a weight is not finite that has to be. Collective.
void load_masters(const ParameterList& list, const ShardedBuffer& master, CheckpointSource& source, Staging& staging,
                  Weights expected = Weights::any);
/// Reads the masters out of a Hugging Face folder: each rank reads the rows that it has a piece of. Throws as
/// files::read_together. Collective.
void load_masters(const ParameterList& list, const ShardedBuffer& master, const checkpoint::HuggingFaceModel& from,
                  Staging& staging, Communicator& control, Weights expected = Weights::any);
// What they are made of.

/// What a shard covers of its tensor.
checkpoint::Box box_of(const Shard& shard);

/// A piece that this rank has of a parameter, and where its fp32 elements go in host memory, dense and row-major.
struct HostPiece {
  const ParameterSpec& parameter;
  checkpoint::Box box;
  float* data;
};

/// Calls `read` with all of this rank's pieces that have elements, and puts what it has read into the buffer, where it
/// is when this returns. On a GPU they go through `staging`; on the CPU `read` writes to the buffer itself.
void fill_pieces(const ParameterList& list, const ShardedBuffer& buffer, Staging& staging,
                 const std::function<void(std::span<const HostPiece>)>& read);

/// Reads the tensors of one kind into this rank's pieces: the most host memory that a GPU's rank needs is that of one
/// kind. Throws as the source does, and as load_masters where a value is not finite. Collective.
void load_kind(const ParameterList& list, const ShardedBuffer& buffer, checkpoint::TensorKind kind,
               CheckpointSource& source, Staging& staging, Weights expected = Weights::any);

}  // namespace octet
