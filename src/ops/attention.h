#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "src/ops/context.h"
#include "src/tensor/tensor.h"

namespace octet {

/// What tokens of a row see that is no document of their own: a beginning that stands elsewhere and is theirs too.
/// On the device.
struct SharedPrefixes {
  const std::int32_t* spans = nullptr;   ///< SpanAttention::spans of these tokens; null: there are none
  const std::int32_t* origin = nullptr;  ///< [batch, seq]: where position 0 of each token's text would stand in its row

  bool operator==(const SharedPrefixes&) const = default;
};

/// The documents of a micro-batch's rows.
struct RowDocuments {
  bool possible = false;   ///< a row of another micro-batch may hold several: scratch is that for both
  bool may_share = false;  ///< likewise for prefixes
  PackedDocuments packed{};
  SharedPrefixes shared{};  ///< in forward alone
};

/// Documents in host memory: PackedDocuments without `begin`.
struct DocumentList {
  std::vector<std::int32_t> starts;  ///< [places + 1]
  std::int64_t longest = 0;

  std::int64_t places() const { return static_cast<std::int64_t>(starts.size()) - 1; }
};

/// Lists the documents of rows of `seq` tokens. `begin` [batch · seq]: PackedDocuments::begin, in host memory.
DocumentList list_documents(std::span<const std::int32_t> begin, std::int64_t seq);

/// Queries [batch · seq, heads · head_dim], keys and values [batch · seq, kv_heads · head_dim]; or their gradients.
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
void attention_forward(OpContext& context, const AttentionShape& shape, RowDocuments documents, const Qkv& inputs,
                       const Attended& out);

/// Overwrites `gradients` with those of the inputs, from d_o, the gradient of o.
void attention_backward(OpContext& context, const AttentionShape& shape, RowDocuments documents, const Qkv& inputs,
                        const Attended& made, const Tensor& d_o, const Qkv& gradients);

/// Attention of q [queries, heads · head_dim] to the keys that its spans name, of k and v [keys, kv_heads · head_dim];
/// `spans` and `longest` as in SpanAttention; without spans only its scratch is taken.
void span_attention(OpContext& context, const SpanAttentionShape& shape, const Qkv& inputs, const Tensor& o,
                    const std::int32_t* spans, std::int64_t longest);

/// cos and sin [seq, head_dim / 2] of the rotary embedding, computed in double on the host from the radians by which
/// each pair of a head turns from one position to the next.
struct RopeTable {
  RopeTable(Device& device, Stream& stream, std::int64_t seq, const std::vector<double>& frequencies);
  TensorBuffer cos, sin;
};

/// What rope turns: x [batch · seq, heads · head_dim] in place, or into its float8 form alone. Without data: nothing.
struct Rotated {
  Tensor x;
  StatsOut stats{};    ///< of the result
  Float8Out float8{};  ///< likewise
};

/// Rotates queries and keys, or their gradients back with `inverse`, by positions that begin with each document.
void rope(OpContext& context, const RopeTable& table, const Rotated& q, const Rotated& k, std::int64_t batch,
          std::int64_t head_dim, RowDocuments documents, bool inverse);

}  // namespace octet
