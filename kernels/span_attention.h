#pragma once

#include <cstdint>

#include "src/base/dtype.h"

namespace octet {

/// Sizes of an attention to chosen keys. Query head h reads key/value head h / (heads / kv_heads).
struct SpanAttentionShape {
  std::int64_t queries = 0;
  std::int64_t keys = 0;  ///< rows of k and v, whether any query sees them or not
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  float scale = 1.0f;         ///< of q·k, usually 1/sqrt(head_dim)
  DType dtype = DType::bf16;  ///< f32 or bf16

  bool operator==(const SpanAttentionShape&) const = default;
};

/// o = softmax(scale · q kᵀ) v, where each query sees two spans of the keys, together, in one softmax: a token that is
/// generated sees what a cache holds, a token behind a prefix that others share sees that and its own past. Softmax and
/// sums in fp32, in an order that depends on the shape and the spans alone. Nothing is kept for a backward pass.
///
/// Keys that no query sees are not read. Neighbouring queries that see the same keys share their reading.
struct SpanAttention {
  SpanAttentionShape shape;
  const void* q = nullptr;  ///< [queries, heads, head_dim]
  const void* k = nullptr;  ///< [keys, kv_heads, head_dim]
  const void* v = nullptr;  ///< [keys, kv_heads, head_dim]
  void* o = nullptr;        ///< [queries, heads, head_dim]
  /// [queries, 4], on the device: a query sees the keys [spans[0], spans[1]) and [spans[2], spans[3]). Both lie within
  /// [0, keys) and have no key in common; one may be empty. The o of a query of two empty spans stays as it is.
  const std::int32_t* spans = nullptr;
  /// No query sees more keys than this. It gives the amount of work to code that does not know the spans, and changes
  /// no result.
  std::int64_t longest = 0;
  void* workspace = nullptr;  ///< KernelTable::span_attention_workspace bytes

  /// Two products with `longest` keys for each query.
  double flops() const {
    const SpanAttentionShape& s = shape;
    return 4.0 * static_cast<double>(s.queries * s.heads * s.head_dim) * static_cast<double>(longest);
  }
  DType multiplied() const { return shape.dtype; }
  /// Queries and spans in, o out, and `longest` keys and values once.
  std::int64_t bytes_moved() const {
    const SpanAttentionShape& s = shape;
    const std::int64_t elements = 2 * (s.queries * s.heads + longest * s.kv_heads) * s.head_dim;
    return elements * size_of(s.dtype) + s.queries * 4 * size_of(DType::i32);
  }
  bool operator==(const SpanAttention&) const = default;
};

/// q, k, v, o and spans lie on attention_alignment bytes; the internal error names the operand.
void check_operands(const SpanAttention& args);

}  // namespace octet
