#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "src/comm/mesh.h"
#include "src/model/llama.h"
#include "src/optim/adamw.h"
#include "src/parallel/fsdp_gradients.h"
#include "src/parallel/fsdp_weights.h"
#include "src/parallel/gradient_norm.h"
#include "src/parallel/pipeline/tied_embedding.h"
#include "src/parallel/tp_exchange.h"
#include "src/parallel/update_events.h"
#include "src/train/step/update_overlap.h"

namespace octet {

/// A model with its sharded state: fp32 master weights, gradients and Adam moments of this rank, the FSDP provider and
/// sink around them, and the optimizer. It knows no data and no loop. Collective over the mesh are initialize,
/// weights_changed, the calls of a step and evaluate; the rest is local.
class ShardedModel {
 public:
  /// `mesh`: its groups on `stream`; those that work beside it are made from them here.
  ShardedModel(const LlamaSettings& settings, const OptimizerConfig& optimizer, const FsdpOptions& fsdp, Mesh& mesh,
               Stream& stream, GemmTrace* gemms);

  /// Initial weights, the same bits for every layout.
  void initialize(std::uint64_t seed);
  /// To be called after the masters were written. Makes weight scales from scratch and forgets gathered weights.
  void weights_changed();

  /// A training step is begin_step, `micro_batches` times forward_backward, and finish_step. The update of the step
  /// before may still run beside the first forward pass, whose GEMMs then leave it its part of a GPU:
  /// `gemm_multiprocessors` is GpuSplit::gemms.
  void begin_step(std::int64_t micro_batches, std::int64_t gemm_multiprocessors = 0);
  /// Forward and backward of one micro-batch, whose gradients are added to those before; tokens and targets
  /// [micro_batch, seq_len] on the device.
  void forward_backward(const MicroBatch& batch);
  /// Sums replicas, clips by the global norm, updates weights and their scales. `step` counts from 1. With `beside` the
  /// update is under way on a stream of its own when the model's stream is done with the step, on that part of a GPU,
  /// and what comes next waits for what it needs of it (UpdateEvents). Internal error where ranks must exchange
  /// abs-maxes after the update (obstacle_to_update_beside).
  void finish_step(std::int64_t step, double lr, const std::optional<GpuSplit>& beside = {});
  /// The model's stream comes after the update: for what reads or writes the state by addresses that it had before.
  void join_update() { updates_.join(); }
  /// Says whether an update is under way beside the model's stream.
  bool update_under_way() const { return updates_.under_way(); }
  /// Forward only; adds the sum of token losses to *loss_sum.
  void evaluate(const MicroBatch& batch);

  /// Counters of elements that are not finite: one each tensor of each unit, then one each parameter's gradient,
  /// of the whole model: the same on all ranks.
  std::int64_t counters() const { return model_.checks().size() + static_cast<std::int64_t>(all_parameters_.ids); }
  /// Copies them to host memory [counters()] and resets them, in the order of the stream.
  void copy_and_reset_counters(std::uint32_t* host);
  /// What was not finite, by counts that were summed over all ranks.
  std::vector<TensorChecks::Finding> findings(const std::vector<std::int64_t>& counts) const;
  /// To be called before counts are summed. Replicas hold equal gradients, of which one counts: sets the others' to 0.
  void zero_duplicate_counts(std::vector<std::uint32_t>& counts) const;

  /// The parameters that this rank has pieces of.
  const ParameterList& parameters() const { return model_.parameters(); }
  /// The parameters of the whole model, whose numbers are the ids.
  const ParameterList& all_parameters() const { return all_parameters_; }
  const GradientNorm& norm() const { return norm_; }
  // The state, for work that the model's stream is given from then on; the update is joined.
  ShardedBuffer& master() { return at_rest(master_); }
  ShardedBuffer& gradients() { return at_rest(gradients_); }
  ShardedBuffer& first_moment() { return at_rest(first_moment_); }
  ShardedBuffer& second_moment() { return at_rest(second_moment_); }
  const WeightScales& scales() { return at_rest(weight_scales_); }
  Float8Scaling& scaling() { return at_rest(model_.scaling()); }
  FsdpWeights& weights() { return weights_; }
  /// The model, for passes in another order than forward_backward's: several slots, or a stage's.
  Llama& llama() { return model_; }
  FsdpGradients& sink() { return sink_; }

 private:
  /// The shard group on its own stream, or as it is.
  Communicator& gather_group() { return gather_group_ ? *gather_group_ : mesh_.fsdp(); }
  Communicator& reduce_group() { return reduce_group_ ? *reduce_group_ : mesh_.fsdp(); }
  template <typename State>
  State& at_rest(State& state) {
    updates_.join();
    return state;
  }
  void update(std::int64_t step, double lr, const std::optional<GpuSplit>& beside);
  /// Has the update leave the parameter at `place` too, in the form in which it is gathered; null: nowhere.
  void leave_weight(std::size_t parameter, void* place);
  /// Moves on the histories of recipes that have one (`delayed`). To be called before the optimizer, which replaces the
  /// weights' abs-maxes by those of the new weights.
  void update_delayed_scales();

  Mesh& mesh_;
  Stream& stream_;
  Device& device_;
  const KernelTable& kernels_;
  OptimizerConfig optimizer_;
  std::unique_ptr<Stream> gather_stream_, reduce_stream_;  ///< with overlap
  std::unique_ptr<Communicator> gather_group_, reduce_group_;
  std::unique_ptr<Stream> tp_stream_;  ///< with async_tp
  std::unique_ptr<Communicator> tp_beside_;
  TpExchange exchange_;
  Llama model_;
  ParameterList all_parameters_;
  ShardLayout layout_;
  ShardedBuffer master_, gradients_, first_moment_, second_moment_;
  WeightScales weight_scales_;
  UpdateEvents updates_;
  FsdpWeights weights_;
  FsdpGradients sink_;
  TiedEmbedding tied_;
  GradientNorm norm_;
  std::vector<OptimizerSlice> slices_;
};

}  // namespace octet
