#pragma once

#include <memory>
#include <vector>

#include "src/model/head.h"
#include "src/model/slot.h"
#include "src/profile/scopes.h"
#include "src/tensor/weight_provider.h"

namespace octet {

/// Forward and backward of micro-batches, written out as a straight list of op calls. It holds activations, not
/// weights: those come from a WeightProvider unit by unit, and gradients go to a GradientSink. Under tensor parallelism
/// it is one rank's part of the model, and meets the others in its ops' Exchange alone.
///
/// A micro-batch's pass through a stage has a slot, which keeps its activations: begin, forward, backward, each of one
/// slot after the other. With several slots forwards of others may lie between. A stage's residual stream, [rows of
/// this rank, dim], is handed on by the caller: what `out` of one stage holds goes to where `begin` of the next one
/// says, and back again.
class Llama {
 public:
  /// Bytes of the three arenas, found by a pass on a device without memory: the code that allocates is the code that
  /// plans.
  struct MemoryNeeds {
    std::int64_t activations = 0;  ///< each slot's
    std::int64_t scratch = 0;
    std::int64_t recomputed = 0;  ///< activations that blocks make in turns, in forward and again before backward
  };
  static MemoryNeeds plan(const LlamaSettings& settings, Stream& stream) {
    return plan(settings, stream, kernels_of(stream));
  }
  /// Plans with these kernels. `log`, if any, is told of the work of a training pass.
  static MemoryNeeds plan(const LlamaSettings& settings, Stream& stream, const KernelTable& kernels,
                          WorkLog* log = nullptr);
  /// A training pass of a step after the first, with nothing in memory: `exchange` and `gemms` are told what it does.
  static void run_dry(const LlamaSettings& settings, Stream& stream, Exchange& exchange, GemmTrace& gemms);

  Llama(const LlamaSettings& settings, Stream& stream, Exchange& exchange, GemmTrace* gemms)
      : Llama(settings, stream, exchange, gemms, plan(settings, stream)) {}
  Llama(const LlamaSettings& settings, Stream& stream, Exchange& exchange, GemmTrace* gemms, const MemoryNeeds& needs)
      : Llama(settings, stream, exchange, gemms, needs, kernels_of(stream)) {}
  Llama(const LlamaSettings& settings, Stream& stream, Exchange& exchange, GemmTrace* gemms, const MemoryNeeds& needs,
        const KernelTable& kernels);
  Llama(const Llama&) = delete;
  Llama& operator=(const Llama&) = delete;

  /// The parameters of the units that this model computes. A tied embedding is among them also where it has the head
  /// alone.
  const ParameterList& parameters() const { return parameters_; }
  /// The most that was in use of the arenas so far.
  MemoryNeeds used() const;

  /// Units in the order in which a pass through the stage (of LlamaSettings::stages) asks for their weights. Whoever
  /// calls the passes announces them all to the provider first, in the order of the calls.
  std::vector<int> forward_units(int stage_index = 0) const;
  std::vector<int> backward_units(int stage_index = 0) const;

  /// Makes the next training forward of each stage, and what its backward recomputes, leave multiprocessors of a GPU to
  /// other work: the GEMMs of its blocks are chosen for `gemm_multiprocessors` of them (Gemm::multiprocessors).
  void leave_room(std::int64_t gemm_multiprocessors) {
    gemm_multiprocessors_.assign(stages_.size(), gemm_multiprocessors);
  }
  /// Takes the slot for a micro-batch and a stage. Returns the place of the residual stream that a stage without the
  /// embedding gets.
  Tensor begin(int slot_index, PassMode mode = PassMode::training, int stage_index = 0);
  /// Runs the blocks. With the head it adds the losses and, where the slot trains, does the head's backward at once,
  /// which makes the loss whole chunk by chunk. `gradients` may be null where it does not train.
  void forward(int slot_index, const MicroBatch& batch, WeightProvider& weights, GradientSink* gradients);
  void backward(int slot_index, WeightProvider& weights, GradientSink& gradients);
  /// Backward in two parts, of which the second may come after those of other slots: the first leaves the gradient for
  /// the stage below. Between them the slot keeps inputs and output gradients of the linears, the latter in the memory
  /// of activations that are done with. Blocks that recompute do all in the first part: their inputs do not stay. The
  /// bits are those of backward() where the second parts of micro-batches follow each other as the first ones do.
  void backward_of_inputs(int slot_index, WeightProvider& weights, GradientSink& gradients);
  void backward_of_weights(int slot_index, GradientSink& gradients);
  /// A stage without the head leaves its residual stream here in forward, and the caller puts the gradient of it here
  /// before backward. A stage without the embedding leaves the gradient of its input here in backward. Valid until the
  /// slot's next begin(). If that begins a training pass, it stays valid until the forward of that pass asks for the
  /// weights of its last unit, whichever stage the pass is of.
  Tensor out(int slot_index) const { return slots_.at(static_cast<std::size_t>(slot_index)).dh; }

  /// Runs the whole model in slot 0: begin, announcement, forward and backward.
  void forward_backward(const MicroBatch& batch, WeightProvider& weights, GradientSink& gradients);
  /// Forward only: adds the sum of token losses to *batch.loss_sum.
  void evaluate(const MicroBatch& batch, WeightProvider& weights);

  /// Forward only: writes what batch.scored asks for, of which the host makes likelihoods(). Targets are not read.
  void score(const MicroBatch& batch, WeightProvider& weights);
  /// Forward only: scores cached.tokens tokens that come behind those of a cache, which gets their keys and values.
  /// They are one row: documents.begin says of each its number in the row less its position, and cached.spans what it
  /// sees.
  void extend(const MicroBatch& batch, WeightProvider& weights);
  /// This rank's part of the model.
  const ModelConfig& part() const { return part_; }
  /// Head::scored_rows.
  std::int64_t scored_rows(std::int64_t n) { return head(shape_).scored_rows(n); }

  /// The recipe of its fp8 linears; the plain one where none is fp8.
  const Recipe& recipe() const { return *recipe_; }
  /// Where the scales of its fp8 casts come from. Passes of training record their abs-maxes there.
  Float8Scaling& scaling() { return *scaling_; }

  TensorChecks& checks() { return checks_; }
  const TensorChecks& checks() const { return checks_; }

 private:
  struct Dry;
  using Progress = Slot::Progress;

  Llama(const LlamaSettings& settings, Stream& stream, Exchange& exchange, GemmTrace* gemms, const KernelTable& kernels,
        std::vector<Arena> activations, Arena scratch, Arena recomputed);

  const Stage& stage(int stage_index) const { return stages_.at(static_cast<std::size_t>(stage_index)); }
  /// Internal error where a call comes out of its turn.
  Slot& slot_in(Progress expected, int slot_index);
  /// Names the unit to all that trace, until the scope ends.
  [[nodiscard]] UnitScope work_for(int unit);
  Tensor begin(int slot_index, PassMode mode, int stage_index, const BatchShape& shape, const CachedTokens& cached);
  BlockPass pass(const Slot& slot, std::int64_t layer);
  Head head(const BatchShape& shape) { return {op_, part_, shape, checks_}; }
  void forward_blocks(Slot& slot, WeightProvider& weights);
  void backward_blocks(int slot_index, WeightProvider& weights, GradientSink& gradients, bool split);
  void record_forward(const Slot& slot);
  void record_backward(const Slot& slot);
  void embed(const Slot& slot, WeightProvider& weights, const Tensor& out);
  void embed_backward(const std::int32_t* tokens, const Tensor& dh, GradientSink& gradients);
  void leave_stream(const Slot& slot, const Tensor& norm);
  /// Gathers the head's weights: {norm, output}.
  HeadWeights gather_head(WeightProvider& weights);
  void release_head(WeightProvider& weights);
  void head_forward(const MicroBatch& batch, const Slot& slot, WeightProvider& weights);
  void head_score(const ScoredTokens& scored, const Slot& slot, WeightProvider& weights);
  void head_backward(const MicroBatch& batch, const Slot& slot, WeightProvider& weights, GradientSink& gradients);

  LlamaSettings settings_;
  ModelConfig part_;  ///< what this rank computes with
  std::vector<Stage> stages_;
  ParameterList parameters_;
  KernelTable kernels_;
  Arena scratch_;
  Arena recomputed_;            ///< shared by all slots
  int recomputed_of_ = nobody;  ///< the slot whose forward was the last to write there, before any backward did
  static constexpr int nobody = -1;
  RopeTable rope_;
  TensorChecks checks_;
  OpContext op_;
  BatchShape shape_;                                ///< a whole micro-batch's
  std::vector<std::int64_t> gemm_multiprocessors_;  ///< by stage, for its next training forward
  std::vector<BlockLinears> linears_;               ///< by layer
  RecipePtr recipe_;
  std::unique_ptr<Float8Scaling> scaling_;
  std::vector<Slot> slots_;
};

}  // namespace octet
