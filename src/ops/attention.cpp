#include "src/ops/attention.h"

#include <algorithm>

#include "src/ops/expect.h"

namespace octet {
namespace {

template <typename AnyShape>
void expect_shapes(const Expect& expect, const AnyShape& shape, std::int64_t queries, std::int64_t keys,
                   const Qkv& tensors, const Tensor& o) {
  const Shape of_queries{queries, shape.heads * shape.head_dim}, of_keys{keys, shape.kv_heads * shape.head_dim};
  expect.is("q", tensors.q, shape.dtype, of_queries);
  expect.is("k", tensors.k, shape.dtype, of_keys);
  expect.is("v", tensors.v, shape.dtype, of_keys);
  expect.is("o", o, shape.dtype, of_queries);
}

/// Scratch for the call. Where rows may hold documents, it is enough for a call with documents and for one without,
/// since one memory plan is made for all micro-batches.
template <typename Args, typename Bytes>
void* allocate_for(Arena& scratch, Args& args, RowDocuments documents, const Bytes& bytes) {
  std::int64_t most = bytes(args);
  if (documents.possible) {
    static const std::int32_t some = 0;
    args.documents.begin = &some;  // that there are any is all that the question is about
    most = std::max(most, bytes(args));
  }
  args.documents = documents.packed;
  return scratch.allocate(most);
}

}  // namespace

void attention_forward(OpContext& op, const AttentionShape& shape, RowDocuments documents, const Qkv& inputs,
                       const Attended& out) {
  const std::int64_t tokens = shape.batch * shape.seq;
  expect_shapes({"attention"}, shape, tokens, tokens, inputs, out.o);
  {
    const ArenaScope scope(op.scratch);
    AttentionForward args{.shape = shape,
                          .q = inputs.q.data,
                          .k = inputs.k.data,
                          .v = inputs.v.data,
                          .o = out.o.data,
                          .log_sum_exp = out.log_sum_exp};
    const auto bytes = [&](const AttentionForward& a) { return op.kernels.attention_forward_workspace(a); };
    args.workspace = allocate_for(op.scratch, args, documents, bytes);
    op.kernels.attention_forward(op.stream, args);
  }
  if (!documents.may_share) return;
  span_attention(op, span_shape(shape, tokens, tokens), inputs, out.o, documents.shared.spans, shape.seq);
}

void attention_backward(OpContext& op, const AttentionShape& shape, RowDocuments documents, const Qkv& inputs,
                        const Attended& made, const Tensor& d_o, const Qkv& gradients) {
  const std::int64_t tokens = shape.batch * shape.seq;
  expect_shapes({"attention backward"}, shape, tokens, tokens, inputs, made.o);
  expect_shapes({"gradients of attention"}, shape, tokens, tokens, gradients, d_o);
  const ArenaScope scope(op.scratch);
  AttentionBackward args{.shape = shape,
                         .q = inputs.q.data,
                         .k = inputs.k.data,
                         .v = inputs.v.data,
                         .o = made.o.data,
                         .d_o = d_o.data,
                         .log_sum_exp = made.log_sum_exp,
                         .dq = gradients.q.data,
                         .dk = gradients.k.data,
                         .dv = gradients.v.data};
  const auto bytes = [&](const AttentionBackward& a) { return op.kernels.attention_backward_workspace(a); };
  args.workspace = allocate_for(op.scratch, args, documents, bytes);
  op.kernels.attention_backward(op.stream, args);
}

SpanAttentionShape span_shape(const AttentionShape& shape, std::int64_t queries, std::int64_t keys) {
  return {.queries = queries,
          .keys = keys,
          .heads = shape.heads,
          .kv_heads = shape.kv_heads,
          .head_dim = shape.head_dim,
          .scale = shape.scale,
          .dtype = shape.dtype};
}

void span_attention(OpContext& op, const SpanAttentionShape& shape, const Qkv& inputs, const Tensor& o,
                    const std::int32_t* spans, std::int64_t longest) {
  expect_shapes({"attention to spans"}, shape, shape.queries, shape.keys, inputs, o);
  const ArenaScope scope(op.scratch);
  SpanAttention args{.shape = shape,
                     .q = inputs.q.data,
                     .k = inputs.k.data,
                     .v = inputs.v.data,
                     .o = o.data,
                     .spans = spans,
                     .longest = longest};
  args.workspace = op.scratch.allocate(op.kernels.span_attention_workspace(args));
  if (spans != nullptr) op.kernels.span_attention(op.stream, args);
}

}  // namespace octet
