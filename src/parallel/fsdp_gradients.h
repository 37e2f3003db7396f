#pragma once

#include <vector>

#include "kernels/table.h"
#include "src/comm/communicator.h"
#include "src/device/buffer_pool.h"
#include "src/parallel/gradient_sink.h"
#include "src/parallel/sharded_parameters.h"

namespace octet {

/// Fully sharded gradients: the model writes a unit's gradients in fp32, close() reduce-scatters them into the fp32
/// shard (adding over micro-batches). Without sharding the GEMMs accumulate into the shard itself.
class FsdpGradients final : public GradientSink {
 public:
  FsdpGradients(const ParameterList& list, ShardedBuffer& shards, Communicator& shard_group,
                Communicator& replicate_group, Communicator& tp_group, Stream& stream);

  /// Before the first micro-batch of a step; what the shards hold is forgotten.
  void begin_step() { first_micro_batch_.assign(units_.size(), true); }
  std::span<const GradientTarget> open(int unit) override;
  void close(int unit) override;
  /// After the last micro-batch: sums over the replicas, and over the tensor-parallel group what each of its ranks has
  /// computed of its own rows (parameters that are not cut).
  void finish_step();

  /// Bytes of a unit's unreduced gradients (0 without sharding).
  static std::vector<std::int64_t> unit_bytes(const ParameterList& list, int shards);

 private:
  struct Unit {
    bool open = false;
    Buffer buffer;
    std::vector<GradientTarget> targets;
  };

  void place_targets(int index, Unit& unit);
  void reduce(int index, Unit& unit, bool first);

  const ParameterList& list_;
  ShardedBuffer& shards_;
  Communicator& group_;
  Communicator& replicas_;
  Communicator& tp_;
  Stream& stream_;
  const KernelTable& kernels_;
  std::vector<std::int64_t> unit_bytes_;
  BufferPool pool_;
  Buffer sum_;  ///< reduced pieces of one unit, from the second micro-batch on
  std::vector<Unit> units_;
  std::vector<bool> first_micro_batch_;
};

}  // namespace octet
