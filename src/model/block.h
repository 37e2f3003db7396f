#pragma once

#include <array>
#include <span>

#include "src/model/activations.h"
#include "src/ops/attention.h"
#include "src/ops/rope.h"
#include "src/ops/tensor_checks.h"
#include "src/tensor/gradient_sink.h"

namespace octet {

/// A block's part of a cache, and which of its rows the queries of a pass see. `keys` of rank 0: there is no cache, and
/// attention is causal within the rows of the pass.
struct CachedKeys {
  Tensor keys{}, values{};              ///< [rows, kv_heads · head_dim]
  const std::int32_t* spans = nullptr;  ///< SpanAttention::spans
  std::int64_t longest = 0;             ///< SpanAttention::longest
};

/// What a block's pass works with: what is the same for all blocks, and, from `unit` on, what is the block's.
struct BlockPass {
  OpContext& op;
  const ModelConfig& model;
  BatchShape shape;
  RowDocuments documents;
  const RopeTable& rope;
  const TensorChecks& checks;
  int unit;
  const BlockLinears& linears;
  BlockScales scales{};
  CachedKeys cached{};  ///< the a.k and a.v of the pass lie in it
};

/// h = in.residual + in.branch;  h_middle = h + attention(norm(h));  branch = ffn(norm(h_middle)).
/// h and h_middle are those of `a`, and the block's result is {h_middle, branch}.
/// `in`, `branch`: [r, dim] in the storage dtype, for the r rows of this rank (BatchShape::rows). `branch` may be
/// in.branch. Where in.branch has no data (the first block), in.residual is h itself.
/// `weights`: the unit's, in the order of BlockWeight.
void block_forward(const BlockPass& pass, std::span<const Tensor> weights, const BlockResult& in, BlockActivations& a,
                   const Tensor& branch);

/// Makes again what `kept` lacks of a forward of this block, from what it has: the same bits, with the scales of then;
/// nothing is measured, counted or reduced, and the block's result is not made. `branch` [r, dim] is scratch.
void block_recompute(const BlockPass& pass, std::span<const Tensor> weights, const ActivationSet& kept,
                     BlockActivations& a, const Tensor& branch);

/// What a backward pass that makes only the gradients of inputs leaves for block_weight_gradients: the output gradients
/// of the linears, in the storage dtype with the scales of their casts, and the gradients of the norms, which are made
/// along with those of the inputs. All output gradients but w2's lie in the memory of activations that nobody reads any
/// more: a.gate, a.up, a.h_middle, a.q, a.k and a.v. The inputs of the linears have to stay.
struct DeferredGradients {
  Arena* arena = nullptr;  ///< memory for scales
  OutputGradient w2{};     ///< its dy: a place [r, dim], which block_backward fills
  OutputGradient gate{}, up{}, wo{}, q{}, k{}, v{};
  std::array<Tensor, block_norms> norms{};  ///< by BlockWeight: places, fp32 [dim]
};

/// `transposed`: copies of the weights (WeightProvider::transposed), or none. `dh` [r, dim] is the gradient of the
/// block's result, which is w2's output gradient. dh.dy is overwritten with the gradient of the block's input; `below`
/// says where to write what the block below needs to know of it, if anything. a.gate and a.up are not valid afterwards.
/// With `deferred` no weight gradient is made, `gradients` is empty, and of `a` only the inputs of the linears stay
/// valid.
void block_backward(const BlockPass& pass, std::span<const Tensor> weights, std::span<const Tensor> transposed,
                    std::span<const GradientTarget> gradients, BlockActivations& a, const OutputGradient& dh,
                    const OutputGradient& below = {}, DeferredGradients* deferred = nullptr);
/// The second part of such a backward pass; together they give the bits of one that makes all at once.
void block_weight_gradients(const BlockPass& pass, std::span<const GradientTarget> gradients, BlockActivations& a,
                            const DeferredGradients& deferred);

/// A linear's output gradient that will be in dy, with its fp8 forms in `arena` if it is cast before it gets there; the
/// transposed one too with `transposed`: where kernels read along k and the producer can write it. `place`: a tensor
/// with room for the form as stored, which then lies there and not in the arena.
OutputGradient output_gradient(const LinearRecipe& linear, const Tensor& dy, const QuantScale& scale, Arena& arena,
                               bool transposed, const Tensor& place = {});

}  // namespace octet
