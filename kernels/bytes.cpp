#include "kernels/bytes.h"

namespace octet {
namespace {

using std::int64_t;

int64_t forms_of(const Float8Out& out) {
  return (out.y != nullptr ? 1 : 0) + (out.y_transposed != nullptr ? 1 : 0);
}

/// Tensors of attention's queries, and of its keys and values.
int64_t attention_bytes(const AttentionShape& s, int of_queries, int of_keys) {
  const int64_t heads = of_queries * s.heads + of_keys * s.kv_heads;
  return s.batch * s.seq * (heads * s.head_dim * size_of(s.dtype) + 4 * s.heads);  // log_sum_exp
}

int64_t d_logits_bytes(const void* d_logits, DType dtype) {
  return d_logits == nullptr ? 0 : size_of(dtype);
}

}  // namespace

int64_t bytes_moved(const Stats& a) {
  return a.n * size_of(a.dtype);
}
int64_t bytes_moved(const ComputeScales& a) {
  return a.n * 12;
}
int64_t bytes_moved(const RecordAmax& a) {
  return a.n * 12;
}
int64_t bytes_moved(const DelayedScales& a) {
  return a.n * a.length * 8;
}
int64_t bytes_moved(const CastToFloat8& a) {
  return a.n * (size_of(a.from) + (a.y != nullptr ? 1 : 0) + (a.y_transposed != nullptr ? 1 : 0));
}
int64_t bytes_moved(const TransposeFloat8& a) {
  return a.rows * a.columns * 2;
}
int64_t bytes_moved(const Convert& a) {
  return a.n * (size_of(a.from) + size_of(a.to));
}
int64_t bytes_moved(const QuantizeRowwise& a) {
  return a.rows * a.columns * (size_of(a.from) + (a.by_row.wanted() ? 1 : 0) + (a.by_column.wanted() ? 1 : 0));
}
int64_t bytes_moved(const Gemm& a) {
  return a.m * a.k * size_of(a.a.dtype) + a.k * a.n * size_of(a.b.dtype) +
         a.m * a.n * size_of(a.c_dtype) * (a.beta == 0 ? 1 : 2);
}
int64_t bytes_moved(const EmbeddingForward& a) {
  return a.n * (2 * a.dim * size_of(a.dtype) + 4);
}
int64_t bytes_moved(const EmbeddingBackward& a) {
  return a.n * (a.dim * (size_of(a.dtype) + 8) + 4) + (a.accumulate ? 0 : a.vocab * a.dim * 4);
}
int64_t bytes_moved(const AddRmsNormForward& a) {
  return a.rows * a.dim * (size_of(a.dtype) * (a.branch == nullptr ? 2 : 4) + forms_of(a.float8)) + a.rows * 4;
}
int64_t bytes_moved(const RmsNormBackward& a) {
  return a.rows * a.dim * size_of(a.dtype) * (a.d_residual == nullptr ? 3 : 4) + a.rows * 4;
}
int64_t bytes_moved(const Rope& a) {
  return 2 * a.batch * a.seq * a.heads * a.head_dim * size_of(a.dtype) + a.seq * a.head_dim * 4;
}
int64_t bytes_moved(const AttentionForward& a) {
  return attention_bytes(a.shape, 2, 2);
}
int64_t bytes_moved(const AttentionBackward& a) {
  return attention_bytes(a.shape, 4, 4);
}
int64_t bytes_moved(const SwigluForward& a) {
  return a.n * (3 * size_of(a.dtype) + forms_of(a.float8));
}
int64_t bytes_moved(const SwigluBackward& a) {
  return a.n * (5 * size_of(a.dtype) + forms_of(a.gate_float8) + forms_of(a.up_float8));
}
int64_t bytes_moved(const CrossEntropy& a) {
  return a.rows * (a.vocab * (4 + d_logits_bytes(a.d_logits, a.d_dtype)) + 8);
}
int64_t bytes_moved(const CrossEntropyStats& a) {
  return a.rows * (a.vocab * 4 + 16);
}
int64_t bytes_moved(const CrossEntropyFinish& a) {
  const int64_t logits = a.d_logits == nullptr ? 0 : a.vocab * (4 + size_of(a.d_dtype));
  return a.rows * (logits + a.parts * 12 + 8);
}
int64_t bytes_moved(const AdamWUpdate& a) {
  return a.n * 28;
}
int64_t bytes_moved(const Sum& a) {
  return a.n * 4;
}
int64_t bytes_moved(const SumOfSquares& a) {
  return a.n * 4;
}
int64_t bytes_moved(const Accumulate& a) {
  return a.n * 12;
}
int64_t bytes_moved(const SumParts& a) {
  return a.n * (a.count * size_of(a.dtype) + size_of(a.out_dtype) * (a.accumulate ? 2 : 1));
}
int64_t bytes_moved(const ClipFactor&) {
  return 16;
}

}  // namespace octet
