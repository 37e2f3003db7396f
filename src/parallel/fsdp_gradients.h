#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "kernels/table.h"
#include "src/comm/communicator.h"
#include "src/device/buffer.h"
#include "src/parallel/fsdp_options.h"
#include "src/parallel/gradient_layout.h"
#include "src/parallel/sharded_parameters.h"
#include "src/tensor/gradient_sink.h"

namespace octet {

/// Fully sharded gradients: the model writes a unit's gradients, close() sums them over the shard group into the fp32
/// shard, after every micro-batch (adding to what is there) or, with Zero::one, after the last of a step, by one of two
/// exchanges:
///   wire f32   a reduce-scatter;
///   wire bf16  the gradients are rounded to bf16, sent by an all-to-all of half the bytes, and summed in fp32, in rank
///              order, by their owner: one rounding of each rank's contribution, none of a sum.
/// The model writes fp32. With FsdpOptions::gemm_gradient_dtype of bf16 the GEMMs that write a gradient alone round it
/// themselves, once as well, and the wire takes it as it is.
/// Sums over replicas and over the tensor-parallel group are of shards, once a step, and in fp32 always.
/// Without sharding the GEMMs write into the shard itself and add to it, unless FsdpOptions::one_rank_exchange is set.
/// There a wire of bf16 means that the pieces of the shard which a single GEMM writes are bf16 (gradient_piece_dtypes);
/// this needs a step of one micro-batch, without replicas. All other combinations are internal errors.
///
/// With Zero::one and several micro-batches a unit's gradients stay whole until the last one. In fp32 they stay where
/// the GEMMs add to them; in bf16 (FsdpOptions::whole_gradients) the sum so far is kept apart, rounded after each
/// micro-batch, and added to the last micro-batch's gradients in fp32. Its memory is taken in the first step that needs
/// it, and kept.
///
/// A unit is reduced on the stream of `shard_group`. Where that is not the compute stream, the model goes on with the
/// next unit meanwhile: at most one unit is being reduced while another is written. The host waits for nothing but
/// what the communicator's calls wait for.
class FsdpGradients final : public GradientSink {
 public:
  FsdpGradients(const ParameterList& list, ShardedBuffer& shards, Communicator& shard_group,
                Communicator& replicate_group, Communicator& tp_group, Stream& stream, const FsdpOptions& options = {});

  /// To be called before the first micro-batch of a step. What the shards hold is forgotten. Every unit will be closed
  /// `micro_batches` times, in whatever order.
  void begin_step(std::int64_t micro_batches);
  std::span<const GradientTarget> open(int unit) override;
  void close(int unit) override;
  /// To be called after the last micro-batch. Sums over the replicas, and over the tensor-parallel group what each of
  /// its ranks has computed of its own rows (parameters that are not cut). All copies of a piece get the same bits, in
  /// whatever order the groups sum.
  void finish_step();

 private:
  struct Unit {
    bool open = false;
    std::int64_t closed = 0;  ///< micro-batches of this step
    Buffer buffer;
    Buffer sum;  ///< bf16, of the micro-batches before; empty: nothing is kept so
    std::vector<GradientTarget> targets;
  };

  /// A closed unit's memory until its reduction is done.
  struct Reducing {
    Buffer buffer;
    Unit* owner;  ///< to which it goes back; null: to the pool
    std::unique_ptr<Event> done;
  };

  /// Says whether units stay whole, and are reduced only after the step's last micro-batch.
  bool defers_reduction() const { return sharded_ && zero_ == Zero::one && micro_batches_ > 1; }
  bool defers_in_fp32() const { return defers_reduction() && whole_dtype_ == DType::f32; }
  bool overlaps() const { return &reduces_ != &stream_; }
  /// Makes the compute stream wait for all reductions but the last `left`. The memory of those it waits for is then
  /// free.
  void await_reductions(std::size_t left);
  void place_targets(int index, Unit& unit);
  void add_to_bf16_sum(int index, Unit& unit, bool last);
  void reduce(int index, Unit& unit, bool overwrite);
  /// Reduces on the stream of reductions, once the unit's gradients are there. `overwrite`: what the shards hold is
  /// replaced and not added to; so it is in the calls below.
  void start_reduction(int index, Unit& unit, bool overwrite);
  void reduce_scatter(std::size_t begin, std::size_t end, const Unit& unit, bool overwrite);
  void exchange_and_sum(int index, const Unit& unit, bool overwrite);
  /// In one group of calls, the shards of what every rank of a tensor-parallel group has whole.
  void for_each_not_cut(const std::function<void(float* piece, std::int64_t n)>& exchange);
  std::int64_t piece(std::size_t parameter) const {
    return gradient_shards_.layout().shard(parameter).padded_elements();
  }
  void reserve(std::int64_t bytes);

  const ParameterList& list_;
  ShardedBuffer& gradient_shards_;
  Communicator& group_;
  Communicator& replicas_;
  Communicator& tp_;
  Stream& stream_;   ///< the model's
  Stream& reduces_;  ///< the shard group's
  const KernelTable& kernels_;
  Zero zero_;
  DType wire_dtype_, whole_dtype_, gemm_dtype_;
  bool sharded_;                    ///< gradients are exchanged: between several shards, or with one_rank_exchange
  std::int64_t micro_batches_ = 0;  ///< of the step
  std::unique_ptr<Event> written_;  ///< the end of a unit's gradients
  std::deque<Reducing> reducing_;   ///< in the order of their stream
  GradientLayout layout_;
  BufferPool pool_;
  /// Memory beside a unit while it is reduced. wire f32: its reduced pieces, from the second micro-batch on. wire bf16:
  /// its fp32 gradients rounded, for which their own memory then takes those of the other ranks, and what the other
  /// ranks send for the gradients that are bf16.
  Buffer scratch_;
  std::vector<Unit> units_;
};

}  // namespace octet
