#pragma once

#include <memory>
#include <vector>

#include "src/model/block.h"
#include "src/model/head.h"
#include "src/parallel/weight_provider.h"
#include "src/profile/scopes.h"

namespace octet {

struct LlamaSettings {
  ModelConfig model{};
  Precision precision = Precision::bf16;
  Float8Config float8{};
  std::int64_t micro_batch = 1;
  std::int64_t seq_len = 0;
  Part tp{};                      ///< this rank's part of a tensor-parallel group
  bool tp_keep_gathered = false;  ///< gathered inputs of linears stay until backward, else they are gathered again
  bool async_tp = false;          ///< the exchange is pipelined
  RecomputeConfig recompute{};
};

/// Forward and backward of one micro-batch, written out as a straight list of op calls. It holds activations, not
/// weights: those come from a WeightProvider unit by unit, and gradients go to a GradientSink. Under tensor parallelism
/// it is one rank's part of the model, and meets the others in its ops' Exchange alone.
class Llama {
 public:
  /// Bytes of the three arenas, found by a pass on a device without memory: the code that allocates is the code that
  /// plans.
  struct MemoryNeeds {
    std::int64_t activations = 0;
    std::int64_t scratch = 0;
    std::int64_t recomputed = 0;  ///< activations that blocks make in turns, in forward and again before backward
  };
  static MemoryNeeds plan(const LlamaSettings& settings, Stream& stream) {
    return plan(settings, stream, kernels_of(stream));
  }
  /// With other kernels than those of the stream's device (for tests). `log` is told of the work of a training pass.
  static MemoryNeeds plan(const LlamaSettings& settings, Stream& stream, const KernelTable& kernels,
                          WorkLog* log = nullptr);

  /// Units in the order in which a pass asks for their weights.
  static std::vector<int> pass_order(const ModelConfig& model, bool backward);

  Llama(const LlamaSettings& settings, Stream& stream, Exchange& exchange, GemmTrace* gemms)
      : Llama(settings, stream, exchange, gemms, plan(settings, stream)) {}
  Llama(const LlamaSettings& settings, Stream& stream, Exchange& exchange, GemmTrace* gemms, const MemoryNeeds& needs)
      : Llama(settings, stream, exchange, gemms, needs, kernels_of(stream)) {}
  Llama(const LlamaSettings& settings, Stream& stream, Exchange& exchange, GemmTrace* gemms, const MemoryNeeds& needs,
        const KernelTable& kernels);
  Llama(const Llama&) = delete;
  Llama& operator=(const Llama&) = delete;

  const ParameterList& parameters() const { return parameters_; }
  /// The most that was in use of the arenas so far.
  MemoryNeeds used() const { return {activations_.high_water(), scratch_.high_water(), recomputed_.high_water()}; }

  /// tokens and targets: [micro_batch, seq_len] int32 on the device; negative targets are not counted.
  /// Adds the sum of token losses to *loss_sum (device) and gives the sink the gradients of loss_scale · that sum.
  void forward_backward(const std::int32_t* tokens, const std::int32_t* targets, float loss_scale, float* loss_sum,
                        WeightProvider& weights, GradientSink& gradients);

  /// Forward only: adds the sum of token losses to *loss_sum.
  void evaluate(const std::int32_t* tokens, const std::int32_t* targets, float* loss_sum, WeightProvider& weights);

  /// Where the scales of its fp8 casts come from. forward_backward records its abs-maxes there, evaluate does not.
  Float8Scaling& scaling() { return *scaling_; }

  TensorChecks& checks() { return checks_; }
  const TensorChecks& checks() const { return checks_; }

 private:
  Llama(const LlamaSettings& settings, Stream& stream, Exchange& exchange, GemmTrace* gemms, const KernelTable& kernels,
        Arena activations, Arena scratch, Arena recomputed);

  /// Names the unit to all that trace, until the scope ends.
  [[nodiscard]] UnitScope work_for(int unit);
  BlockPass pass(std::int64_t layer);
  /// Of the gradient that reaches a block from above, which its w2 casts; none below the first block.
  QuantScale scale_of_dh(std::int64_t layer);
  void embed(const std::int32_t* tokens, WeightProvider& weights, const Tensor& out);
  void embed_backward(const std::int32_t* tokens, const Tensor& dh, GradientSink& gradients);
  /// What `recomputes` says is made again lies in the memory of the block that was allocated before.
  BlockActivations allocate_block(std::int64_t layer, bool recomputes);
  /// `reuse`: forward only, one set of activations serves every block.
  std::vector<BlockActivations> forward_blocks(const std::int32_t* tokens, WeightProvider& weights,
                                               const Tensor& branch, bool reuse);
  /// Gathers the head's weights: {norm, output}.
  std::pair<Tensor, Tensor> gather_head(WeightProvider& weights);
  void release_head(WeightProvider& weights);
  void head_backward(const std::int32_t* targets, float loss_scale, float* loss_sum, const BlockActivations& last,
                     const Tensor& branch, const Tensor& dh, float* dh_amax, WeightProvider& weights,
                     GradientSink& gradients);

  LlamaSettings settings_;
  ModelConfig part_;  ///< what this rank computes with
  RecomputePolicy recompute_;
  ParameterList parameters_;
  KernelTable kernels_;
  Arena activations_;
  Arena scratch_;
  Arena recomputed_;
  RopeTable rope_;
  TensorChecks checks_;
  OpContext op_;
  BatchShape shape_;
  std::vector<BlockRecipes> recipes_;  ///< by block
  std::unique_ptr<Float8Scaling> scaling_;
  Head head_;
};

}  // namespace octet
