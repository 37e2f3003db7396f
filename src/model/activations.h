#pragma once

#include "src/device/arena.h"
#include "src/model/block_scales.h"
#include "src/model/config.h"
#include "src/model/parameters.h"
#include "src/model/recompute.h"

namespace octet {

/// A micro-batch's extents and the storage dtype of activations. Tensor parallelism gives each rank of a group an equal
/// part of the tokens, whatever sequences they belong to: its rows of the residual stream (sequence parallelism).
struct BatchShape {
  std::int64_t batch = 0;  ///< sequences
  std::int64_t seq = 0;
  DType storage = DType::bf16;
  Part part{};                 ///< this rank's part of the tokens
  bool keep_gathered = false;  ///< gathered inputs of linears stay until backward
  std::int64_t tokens() const { return batch * seq; }
  std::int64_t rows() const { return tokens() / part.count; }
};

/// Memory for a block's activations.
struct ActivationPlaces {
  Arena& kept;    ///< memory for what the block keeps from forward to backward
  Arena& shared;  ///< memory for the rest, which blocks make there one after the other
  ActivationSet keep = ActivationSet::all();
  /// Fp8 inputs of linears are kept transposed unless they are gathered (LinearInput::keeps_transposed): for training,
  /// where kernels read along k only.
  bool keep_transposed = false;
  Arena& of(Activation a) const { return keep.has(a) ? kept : shared; }
};

/// What one block makes in forward and reads in backward. n = batch · seq tokens, r = n / parts rows of this rank;
/// heads and ffn are this rank's.
struct BlockActivations {
  Tensor h;                                ///< [r, dim] block input, the residual stream
  float* inverse_rms_attention = nullptr;  ///< [r]
  LinearInput x_attention;                 ///< [r, dim] normed input of q, k, v
  Tensor q, k, v;                          ///< [n, heads · head_dim] after RoPE
  float* log_sum_exp = nullptr;            ///< [batch, heads, seq]
  LinearInput x_wo;                        ///< [n, q_dim] attention output
  Tensor h_middle;                         ///< [r, dim] residual stream after attention
  float* inverse_rms_ffn = nullptr;        ///< [r]
  LinearInput x_ffn;                       ///< [r, dim] normed input of w1 and w3
  Tensor gate, up;                         ///< [n, ffn] outputs of w1 and w3
  LinearInput x_w2;                        ///< [n, ffn] silu(gate) · up

  /// Scales of casts are kept with all of `places`: what is cast again is cast with them.
  static BlockActivations allocate(const ActivationPlaces& places, const ModelConfig& model, const BatchShape& shape,
                                   const BlockLinears& linears, const BlockScales& scales = {});
};

/// What a block has made, as two tensors of this rank's rows [r, dim] whose sum it is: that is left to the next norm,
/// which reads it anyway. Before the first block `branch` has no data.
struct BlockResult {
  Tensor residual, branch;
};

AttentionShape attention_shape(const ModelConfig& model, const BatchShape& shape);

/// Takes [rows, columns] from the arena.
Tensor take(Arena& arena, DType dtype, std::int64_t rows, std::int64_t columns);

}  // namespace octet
