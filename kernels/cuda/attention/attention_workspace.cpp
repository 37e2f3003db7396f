#include "kernels/cuda/attention/attention_workspace.h"

#include "kernels/table.h"
#include "src/base/round_up.h"

namespace octet::cuda {
namespace {

constexpr std::int64_t beside = 4096;  ///< cuDNN takes 128 or 256 bytes of its own

}  // namespace

/// Backward cudnn-frontend sums the gradient of queries in fp32 and, where several query heads share keys, keeps the
/// gradients of keys and values of each in 16 bits; beside them lies one sum of d_o · o a row. Deterministic, the
/// gradients of all scores, in 16 bits and whole tiles, take the place of the first. One of cuDNN's engines has fp32
/// sums of its own: A100s have no other, and on H100s it is the second proposal, for which there is room up to what the
/// head takes of the same scratch.
std::int64_t attention_workspace_bound(const AttentionProblem& problem, bool deterministic) {
  if (problem.pass == AttentionPass::forward) return beside;
  const AttentionShape& s = problem.shape;
  const std::int64_t rows = s.batch * s.heads * s.seq;
  const std::int64_t of_keys = s.heads == s.kv_heads ? 0 : 2 * rows * s.head_dim * size_of(DType::bf16);
  const std::int64_t rest = of_keys + rows * size_of(DType::f32) + beside;
  if (deterministic) {
    return s.batch * s.heads * round_up(s.seq, 64) * round_up(s.seq, 128) * size_of(DType::bf16) + rest;
  }
  const std::int64_t sums = rows * s.head_dim * size_of(DType::f32);
  const std::int64_t with_its_own = 2 * sums + rest;
  return with_its_own <= logits_bytes_on(DeviceType::cuda) ? with_its_own : sums + rest;
}

/// As above, but the gradients of keys and values of each query head are in fp32, and every place takes some bytes.
std::int64_t document_workspace_bound(const AttentionProblem& problem, std::int64_t places) {
  const std::int64_t of_places = 512 * places + 16 * beside;
  if (problem.pass == AttentionPass::forward) return of_places;
  const AttentionShape& s = problem.shape;
  const std::int64_t rows = s.batch * s.heads * s.seq, sums = rows * s.head_dim * size_of(DType::f32);
  return (s.heads == s.kv_heads ? 1 : 3) * sums + rows * size_of(DType::f32) + of_places;
}

}  // namespace octet::cuda
