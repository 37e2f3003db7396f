#pragma once

#include <cstdint>

#include "src/ops/context.h"
#include "src/ops/row_documents.h"
#include "src/tensor/tensor.h"

namespace octet {

/// Queries [batch · seq, heads · head_dim], keys and values [batch · seq, kv_heads · head_dim], all of the dtype of the
/// attention's shape; or their gradients.
struct Qkv {
  Tensor q, k, v;
};

/// What attention makes and its backward needs again.
struct Attended {
  Tensor o;                      ///< [batch · seq, heads · head_dim]
  float* log_sum_exp = nullptr;  ///< as in AttentionForward
};

/// Causal grouped-query attention within documents, with its scratch. Tokens that share a prefix see that and their own
/// document, in place of the latter alone.
void attention_forward(OpContext& op, const AttentionShape& shape, RowDocuments documents, const Qkv& inputs,
                       const Attended& out);

/// Overwrites `gradients` with those of the inputs, from d_o, the gradient of o.
void attention_backward(OpContext& op, const AttentionShape& shape, RowDocuments documents, const Qkv& inputs,
                        const Attended& made, const Tensor& d_o, const Qkv& gradients);

/// The same heads, with so many queries and keys whatever sequences they are of.
SpanAttentionShape span_shape(const AttentionShape& shape, std::int64_t queries, std::int64_t keys);

/// Attention of q [queries, heads · head_dim] to the keys that its spans name, of k and v [keys, kv_heads · head_dim];
/// `spans` and `longest` as in SpanAttention; without spans only its scratch is taken.
void span_attention(OpContext& op, const SpanAttentionShape& shape, const Qkv& inputs, const Tensor& o,
                    const std::int32_t* spans, std::int64_t longest);

}  // namespace octet
