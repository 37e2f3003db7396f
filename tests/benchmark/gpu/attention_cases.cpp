// Rows of attention.
#include <cmath>
#include <vector>

#include "tests/benchmark/gpu/cases.h"

namespace octet::bench {
namespace {

/// Where documents of `length` tokens begin.
const std::int32_t* documents(Case& c, const AttentionShape& s, std::int64_t length) {
  std::vector<std::int32_t> begin;
  for (std::int64_t t = 0; t < s.batch * s.seq; ++t) {
    begin.push_back(static_cast<std::int32_t>(t % s.seq / length * length));
  }
  auto* on_device = c.output<std::int32_t>(s.batch * s.seq);
  Stream& stream = c.place().stream;
  stream.device().copy_from_host(on_device, begin.data(), 4 * s.batch * s.seq, stream);
  stream.synchronize();
  return on_device;
}

AttentionForward attention(Case& c, const Row& row) {
  const AttentionShape s{.batch = row.at("batch"),
                         .seq = row.at("seq"),
                         .heads = row.at("heads"),
                         .kv_heads = row.at("kv_heads"),
                         .head_dim = row.at("head_dim"),
                         .scale = 1.0f / std::sqrt(row.at("head_dim").get<float>()),
                         .dtype = DType::bf16};
  const std::int64_t rows = s.batch * s.seq, q = rows * s.heads * s.head_dim, k = rows * s.kv_heads * s.head_dim;
  AttentionForward args{.shape = s};
  args.q = c.random(DType::bf16, q);
  args.k = c.random(DType::bf16, k);
  args.v = c.random(DType::bf16, k);
  args.o = c.output(2 * q);
  args.log_sum_exp = c.output<float>(rows * s.heads);
  if (row.contains("documents")) args.documents.begin = documents(c, s, row.at("documents"));
  args.workspace = c.output(c.place().kernels.attention_forward_workspace(args));
  return args;
}

}  // namespace

/// "batch", "seq", "heads", "kv_heads", "head_dim"; causal, bf16. "documents": their length, or it is not there.
void make_attention_forward(Case& c, const Row& row) {
  const AttentionForward args = attention(c, row);
  c.set([p = c.place(), args] { p.kernels.attention_forward(p.stream, args); });
}

void make_attention_backward(Case& c, const Row& row) {
  const AttentionForward forward = attention(c, row);
  const AttentionShape& s = forward.shape;
  const std::int64_t rows = s.batch * s.seq, q = rows * s.heads * s.head_dim, k = rows * s.kv_heads * s.head_dim;
  c.place().kernels.attention_forward(c.place().stream, forward);
  AttentionBackward args{.shape = s, .q = forward.q, .k = forward.k, .v = forward.v, .o = forward.o};
  args.d_o = c.random(DType::bf16, q);
  args.log_sum_exp = forward.log_sum_exp;
  args.dq = c.output(2 * q);
  args.dk = c.output(2 * k);
  args.dv = c.output(2 * k);
  args.documents = forward.documents;
  args.workspace = c.output(c.place().kernels.attention_backward_workspace(args));
  c.set([p = c.place(), args] { p.kernels.attention_backward(p.stream, args); });
}

}  // namespace octet::bench
