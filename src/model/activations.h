#pragma once

#include "src/device/arena.h"
#include "src/model/config.h"
#include "src/model/parameters.h"
#include "src/ops/linear.h"

namespace octet {

/// A micro-batch's extents and the storage dtype of activations.
struct BatchShape {
  std::int64_t batch = 0;  ///< sequences
  std::int64_t seq = 0;
  DType storage = DType::bf16;
  std::int64_t tokens() const { return batch * seq; }
};

/// What one block keeps from forward to backward. n = batch · seq tokens.
struct BlockActivations {
  Tensor h;                                ///< [n, dim] block input, the residual stream
  float* inverse_rms_attention = nullptr;  ///< [n]
  LinearInput x_attention;                 ///< normed input of q, k, v
  Tensor q, k, v;                          ///< [n, heads · head_dim] after RoPE
  float* log_sum_exp = nullptr;            ///< [batch, heads, seq]
  LinearInput x_wo;                        ///< [n, q_dim] attention output
  Tensor h_middle;                         ///< [n, dim] residual stream after attention
  float* inverse_rms_ffn = nullptr;        ///< [n]
  LinearInput x_ffn;                       ///< normed input of w1 and w3
  Tensor gate, up;                         ///< [n, ffn] outputs of w1 and w3
  LinearInput x_w2;                        ///< silu(gate) · up

  static BlockActivations allocate(Arena& arena, const ModelConfig& model, const BatchShape& shape,
                                   const BlockRecipes& recipes);
};

AttentionShape attention_shape(const ModelConfig& model, const BatchShape& shape);

/// Takes [rows, columns] from the arena.
Tensor take(Arena& arena, DType dtype, std::int64_t rows, std::int64_t columns);

}  // namespace octet
