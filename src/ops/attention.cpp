#include "src/ops/attention.h"

#include <algorithm>
#include <cmath>

namespace octet {
namespace {

/// Keys and values of the whole sequence have to be on this rank.
void expect_whole_sequences(const OpContext& context) {
  if (context.cp.part().count == 1) return;
  throw internal_error("ops", "attention over sequences that {} ranks hold between them is not there yet",
                       context.cp.part().count);
}

/// Scratch for the call; where rows may hold documents, as much as one with or without them takes, since one plan is
/// for all micro-batches.
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

DocumentList list_documents(std::span<const std::int32_t> begin, std::int64_t seq) {
  DocumentList list;
  const auto tokens = static_cast<std::int64_t>(begin.size());
  std::int64_t longest = 0;
  for (std::int64_t t = 0; t < tokens; ++t) {
    const std::int64_t in_row = t % seq, first = begin[static_cast<std::size_t>(t)];
    if (first == in_row) list.starts.push_back(static_cast<std::int32_t>(t));
    longest = std::max(longest, in_row - first + 1);
  }
  const std::int64_t places = document_places(static_cast<std::int64_t>(list.starts.size()));
  list.starts.resize(static_cast<std::size_t>(places + 1), static_cast<std::int32_t>(tokens));
  list.longest = document_length(longest, seq);
  return list;
}

void attention_forward(OpContext& context, const AttentionShape& shape, RowDocuments documents, const Qkv& inputs,
                       const Attended& out) {
  expect_whole_sequences(context);
  {
    const ArenaScope scope(context.scratch);
    AttentionForward args{.shape = shape,
                          .q = inputs.q.data,
                          .k = inputs.k.data,
                          .v = inputs.v.data,
                          .o = out.o.data,
                          .log_sum_exp = out.log_sum_exp};
    const auto bytes = [&](const AttentionForward& a) { return context.kernels.attention_forward_workspace(a); };
    args.workspace = allocate_for(context.scratch, args, documents, bytes);
    context.kernels.attention_forward(context.stream, args);
  }
  if (!documents.may_share) return;
  const std::int64_t tokens = shape.batch * shape.seq;
  const SpanAttentionShape spans{.queries = tokens,
                                 .keys = tokens,
                                 .heads = shape.heads,
                                 .kv_heads = shape.kv_heads,
                                 .head_dim = shape.head_dim,
                                 .scale = shape.scale,
                                 .dtype = shape.dtype};
  span_attention(context, spans, inputs, out.o, documents.shared.spans, shape.seq);
}

void attention_backward(OpContext& context, const AttentionShape& shape, RowDocuments documents, const Qkv& inputs,
                        const Attended& made, const Tensor& d_o, const Qkv& gradients) {
  expect_whole_sequences(context);
  ArenaScope scope(context.scratch);
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
  const auto bytes = [&](const AttentionBackward& a) { return context.kernels.attention_backward_workspace(a); };
  args.workspace = allocate_for(context.scratch, args, documents, bytes);
  context.kernels.attention_backward(context.stream, args);
}

void span_attention(OpContext& context, const SpanAttentionShape& shape, const Qkv& inputs, const Tensor& o,
                    const std::int32_t* spans, std::int64_t longest) {
  const auto& [q, k, v] = inputs;
  expect_whole_sequences(context);
  const Shape of_queries{shape.queries, shape.heads * shape.head_dim},
      of_keys{shape.keys, shape.kv_heads * shape.head_dim};
  const auto fits = [&](const Tensor& t, const Shape& expected) {
    return t.shape == expected && t.dtype == shape.dtype;
  };
  if (!fits(q, of_queries) || !fits(o, of_queries) || !fits(k, of_keys) || !fits(v, of_keys)) {
    throw internal_error("ops", "attention to spans: tensors that are not {} of {} queries and {} keys",
                         name_of(shape.dtype), shape.queries, shape.keys);
  }
  ArenaScope scope(context.scratch);
  SpanAttention args{
      .shape = shape, .q = q.data, .k = k.data, .v = v.data, .o = o.data, .spans = spans, .longest = longest};
  args.workspace = context.scratch.allocate(context.kernels.span_attention_workspace(args));
  if (spans != nullptr) context.kernels.span_attention(context.stream, args);
}

RopeTable::RopeTable(Device& device, Stream& stream, std::int64_t seq, const std::vector<double>& frequencies)
    : cos(device, DType::f32, {seq, std::ssize(frequencies)}, Purpose::workspace),
      sin(device, DType::f32, {seq, std::ssize(frequencies)}, Purpose::workspace) {
  if (!device.has_memory()) return;
  const std::int64_t half = std::ssize(frequencies);
  std::vector<float> c(static_cast<std::size_t>(seq * half)), s(c.size());
  for (std::int64_t t = 0; t < seq; ++t) {
    for (std::int64_t i = 0; i < half; ++i) {
      const double angle = static_cast<double>(t) * frequencies[static_cast<std::size_t>(i)];
      c[static_cast<std::size_t>(t * half + i)] = static_cast<float>(std::cos(angle));
      s[static_cast<std::size_t>(t * half + i)] = static_cast<float>(std::sin(angle));
    }
  }
  device.copy_from_host(cos.view().data, c.data(), cos.view().bytes(), stream);
  device.copy_from_host(sin.view().data, s.data(), sin.view().bytes(), stream);
  stream.synchronize();
}

void rope(OpContext& context, const RopeTable& table, const Rotated& q, const Rotated& k, std::int64_t batch,
          std::int64_t head_dim, RowDocuments documents, bool inverse) {
  const auto heads = [&](const Rotated& of) -> RopeHeads {
    if (of.x.data == nullptr) return {};
    return {.x = of.x.data, .count = of.x.shape[1] / head_dim, .stats = of.stats, .float8 = of.float8};
  };
  const Tensor& any = q.x.data == nullptr ? k.x : q.x;
  if (any.data == nullptr) return;
  context.kernels.rope(context.stream, {.q = heads(q),
                                        .k = heads(k),
                                        .dtype = any.dtype,
                                        .batch = batch,
                                        .seq = any.shape[0] / batch,
                                        .head_dim = head_dim,
                                        .cos = table.cos.view().as<float>(),
                                        .sin = table.sin.view().as<float>(),
                                        .inverse = inverse,
                                        .document_begin = documents.shared.origin != nullptr ? documents.shared.origin
                                                                                             : documents.packed.begin});
}

}  // namespace octet
