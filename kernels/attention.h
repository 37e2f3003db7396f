#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "src/base/dtype.h"
#include "src/base/named_enum.h"
#include "src/device/device.h"

namespace octet {

/// Sizes of a causal grouped-query attention. Query head h reads key/value head h / (heads / kv_heads).
/// q, o and their gradients are [batch, seq, heads, head_dim]; k, v and theirs [batch, seq, kv_heads, head_dim].
struct AttentionShape {
  std::int64_t batch = 0;
  std::int64_t seq = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  float scale = 1.0f;         ///< of q·k, usually 1/sqrt(head_dim)
  DType dtype = DType::bf16;  ///< f32 or bf16

  /// The bytes of `of_queries` tensors of the queries' size, of `of_keys` of the keys', and of the log-sum-exps.
  std::int64_t bytes(std::int64_t of_queries, std::int64_t of_keys) const {
    return batch * seq * ((of_queries * heads + of_keys * kv_heads) * head_dim * size_of(dtype) + 4 * heads);
  }

  /// The FLOPs as ModelConfig::flops_per_token counts them: two GEMMs over the whole score matrix forward, and twice
  /// that backward.
  double flops() const { return 4.0 * static_cast<double>(batch * heads * head_dim) * static_cast<double>(seq * seq); }

  bool operator==(const AttentionShape&) const = default;
};

enum class AttentionPass : std::uint8_t { forward, backward };
constexpr auto names_of(AttentionPass) {
  return std::to_array<std::string_view>({"forward", "backward"});
}

/// All that a library's choice of an algorithm may depend on: operands are aligned alike wherever they lie.
struct AttentionProblem {
  AttentionShape shape;
  AttentionPass pass = AttentionPass::forward;

  double flops() const { return shape.flops() * (pass == AttentionPass::forward ? 1 : 2); }
};
/// "backward b1 s8192 h32/8 d128 scale 0.088388346 bf16"
std::string text_of(const AttentionProblem& problem);

/// Documents that rows of tokens hold, [batch, seq], on the device. A query sees keys of its document alone, and tiles
/// that it does not see are skipped.
struct PackedDocuments {
  /// [batch, seq]: where in its row the document of a token begins, at most the token's own place. Null: a row is one.
  const std::int32_t* begin = nullptr;
  /// [places + 1]: the same as a list: the tokens with which documents begin, numbered over all rows, [batch · seq];
  /// the places behind the last one hold batch · seq.
  const std::int32_t* starts = nullptr;
  std::int64_t places = 0;   ///< at least as many as there are documents
  std::int64_t longest = 0;  ///< no document has more tokens

  bool operator==(const PackedDocuments&) const = default;
};

/// Few sizes of such lists, since a library's plan is for one: powers of 4.
constexpr std::int64_t document_places(std::int64_t documents) {
  std::int64_t places = 4;
  while (places < documents) places *= 4;
  return places;
}
/// Few lengths: that of a row, a quarter and a sixteenth of it.
constexpr std::int64_t document_length(std::int64_t longest, std::int64_t seq) {
  for (const std::int64_t part : {16, 4}) {
    if (longest <= seq / part) return seq / part;
  }
  return seq;
}

/// o = softmax(scale · q kᵀ + causal mask) v, by tiles with an online softmax (Dao et al., FlashAttention,
/// arXiv:2205.14135): the score matrix is never held. Softmax and sums in fp32.
struct AttentionForward {
  AttentionShape shape;
  const void* q = nullptr;
  const void* k = nullptr;
  const void* v = nullptr;
  void* o = nullptr;
  /// [batch, heads, seq], of the scaled scores; kept for backward, which alone knows the order of its elements where
  /// there are documents.
  float* log_sum_exp = nullptr;
  void* workspace = nullptr;  ///< KernelTable::attention_forward_workspace bytes
  PackedDocuments documents{};

  double flops() const { return shape.flops(); }
  DType multiplied() const { return shape.dtype; }
  std::int64_t bytes_moved() const { return shape.bytes(2, 2); }
  bool operator==(const AttentionForward&) const = default;
};

/// Gradients by recomputing the probabilities from log_sum_exp. Overwrites dq, dk and dv.
struct AttentionBackward {
  AttentionShape shape;
  const void* q = nullptr;
  const void* k = nullptr;
  const void* v = nullptr;
  const void* o = nullptr;
  const void* d_o = nullptr;
  const float* log_sum_exp = nullptr;
  void* dq = nullptr;
  void* dk = nullptr;
  void* dv = nullptr;
  void* workspace = nullptr;  ///< KernelTable::attention_backward_workspace bytes
  PackedDocuments documents{};

  double flops() const { return 2.0 * shape.flops(); }
  DType multiplied() const { return shape.dtype; }
  std::int64_t bytes_moved() const { return shape.bytes(4, 4); }
  bool operator==(const AttentionBackward&) const = default;
};

/// The alignment in bytes of each of q, k, v, o, log_sum_exp and the gradients, which cudnn-frontend's
/// Tensor_attributes promise to cuDNN by default. It is checked on every device; the internal error names the operand.
constexpr std::int64_t attention_alignment = 16;
void check_operands(const AttentionForward& args);
void check_operands(const AttentionBackward& args);

}  // namespace octet
