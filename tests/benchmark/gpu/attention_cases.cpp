// Rows of attention.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "kernels/attention_timing.h"
#include "kernels/cuda_settings.h"
#include "src/base/error.h"
#include "tests/benchmark/gpu/cases.h"

namespace octet::bench {
namespace {

const std::int32_t* on_device(Case& c, const std::vector<std::int32_t>& values) {
  const auto n = static_cast<std::int64_t>(values.size());
  auto* to = c.output<std::int32_t>(n);
  Stream& stream = c.place().stream;
  stream.device().copy_from_host(to, values.data(), 4 * n, stream);
  stream.synchronize();
  return to;
}

/// Documents of these lengths, again and again until a row is full, as a training step lists them.
PackedDocuments documents(Case& c, const AttentionShape& s, const std::vector<std::int64_t>& lengths) {
  std::vector<std::int32_t> begin, starts;
  std::int64_t longest = 0;
  for (std::int64_t row = 0; row < s.batch; ++row) {
    std::size_t next = 0;
    for (std::int64_t first = 0, end = 0; first < s.seq; first = end) {
      end = std::min(s.seq, first + lengths[next++ % lengths.size()]);
      starts.push_back(static_cast<std::int32_t>(row * s.seq + first));
      begin.resize(static_cast<std::size_t>(row * s.seq + end), static_cast<std::int32_t>(first));
      longest = std::max(longest, end - first);
    }
  }
  const std::int64_t places = document_places(static_cast<std::int64_t>(starts.size()));
  starts.resize(static_cast<std::size_t>(places + 1), static_cast<std::int32_t>(s.batch * s.seq));
  return {on_device(c, begin), on_device(c, starts), places, document_length(longest, s.seq)};
}

/// What the row asks for; others come between the launches of one.
CudaSettings settings(const Row& row) {
  const std::string wanted = row.value("document_attention", "own");
  return {.document_attention = wanted == "cudnn" ? DocumentAttention::cudnn : DocumentAttention::own};
}

/// A row of cuDNN's is not to show the times of what takes its place.
void check_plan(Case& c, const AttentionForward& args, AttentionPass pass) {
  const PackedDocuments& of = args.documents;
  const std::string why = why_no_document_plan(c.place().stream, {args.shape, pass}, of.places, of.longest);
  if (!why.empty()) throw usage_error("benchmark", "document_attention cudnn: {}", why);
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
  if (row.contains("documents")) args.documents = documents(c, s, row.at("documents").get<std::vector<std::int64_t>>());
  set_cuda_settings(settings(row));
  if (row.contains("document_attention") && c.place().stream.native() != nullptr) {
    for (const AttentionPass pass : {AttentionPass::forward, AttentionPass::backward}) check_plan(c, args, pass);
  }
  args.workspace = c.output(c.place().kernels.attention_forward_workspace(args));
  return args;
}

}  // namespace

/// "batch", "seq", "heads", "kv_heads", "head_dim"; causal, bf16. "documents": their lengths, or it is not there;
/// with them "document_attention": "cudnn" where it is not our own kernels that are to serve.
void make_attention_forward(Case& c, const Row& row) {
  const AttentionForward args = attention(c, row);
  c.set([p = c.place(), args, by = settings(row)] {
    set_cuda_settings(by);
    p.kernels.attention_forward(p.stream, args);
  });
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
  c.set([p = c.place(), args, by = settings(row)] {
    set_cuda_settings(by);
    p.kernels.attention_backward(p.stream, args);
  });
}

}  // namespace octet::bench
