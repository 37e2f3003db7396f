#include "kernels/span_attention.h"

#include <algorithm>
#include <type_traits>

#include "kernels/cuda/attention/span_stages.cuh"
#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/host/launch.h"

/// A block takes eight rows (the query heads of a key/value head, and of neighbouring queries) over a part of the keys,
/// so that a token that is generated keeps the whole device reading (Dao et al., Flash-Decoding). Parts are put
/// together by a second kernel, in their order. Where rows are enough for the device, all keys are one part, which is
/// the output. Each key and value is read once for all query heads of its head where those are at most eight; 2 · keys
/// · kv_heads · head_dim elements bound the time.
namespace octet::cuda {
namespace attention {
namespace {

constexpr std::int64_t enough_blocks = 1024;

SpanDivision division_of(const SpanAttentionShape& s) {
  const std::int64_t group = s.heads / std::max<std::int64_t>(1, s.kv_heads);
  const std::int64_t row_tiles = ceil_div(s.queries * group, span_rows), steps = ceil_div(s.keys, span_keys);
  const std::int64_t wanted =
      std::max<std::int64_t>(1, enough_blocks / std::max<std::int64_t>(1, row_tiles * s.kv_heads));
  const std::int64_t steps_of_part = std::max<std::int64_t>(1, ceil_div(steps, wanted));
  return {group, row_tiles, std::max<std::int64_t>(1, ceil_div(steps, steps_of_part)), steps_of_part * span_keys};
}

/// A block for eight rows, of one key/value head, over one part of the keys, which it takes span_keys at a time.
template <typename T, int D>
__global__ void __launch_bounds__(span_threads) span_parts(SpanAttention args, SpanDivision by, bool full) {
  constexpr int of_key = D / 8;
  __shared__ float weights[span_rows][span_keys];
  __shared__ float largest[span_rows], total[span_rows], factor[span_rows];
  __shared__ Spans seen[span_rows];
  __shared__ float gathered[span_threads * 8];
  const SharedRows rows{weights, largest, total, factor, seen, gathered};

  const SpanAttentionShape& s = args.shape;
  const int thread = static_cast<int>(threadIdx.x), element = thread % of_key * 8, first_key = thread / of_key;
  const std::int64_t kv_head = blockIdx.y, first_row = std::int64_t{blockIdx.x} * span_rows;
  const std::int64_t begin = blockIdx.z * by.part_keys, end = min(s.keys, begin + by.part_keys);
  const int head_dim = static_cast<int>(s.head_dim), left = head_dim - element;
  const auto read_k = [&](int key, float(&to)[8]) {
    read8(static_cast<const T*>(args.k) + (key * s.kv_heads + kv_head) * head_dim + element, full && left > 0, left,
          to);
  };
  const auto read_v = [&](int key, float(&to)[8]) {
    read8(static_cast<const T*>(args.v) + (key * s.kv_heads + kv_head) * head_dim + element, full && left > 0, left,
          to);
  };
  const auto row_of = [&](int r) {  // among [queries, heads]; -1 beyond them
    const std::int64_t i = first_row + r;
    return i < s.queries * by.group ? i / by.group * s.heads + kv_head * by.group + i % by.group : std::int64_t{-1};
  };

  if (thread < span_rows) {
    const std::int64_t row = row_of(thread);
    seen[thread].span =
        row < 0 ? make_int4(0, 0, 0, 0) : *reinterpret_cast<const int4*>(args.spans + row / s.heads * 4);
    largest[thread] = -infinite;
    total[thread] = 0.0f;
  }
  float q[span_rows][8], o[span_rows][8];
#pragma unroll
  for (int r = 0; r < span_rows; ++r) {
    const std::int64_t row = row_of(r);
    read8(static_cast<const T*>(args.q) + max(row, std::int64_t{0}) * head_dim + element, full && left > 0,
          row < 0 ? 0 : left, q[r]);
#pragma unroll
    for (int e = 0; e < 8; ++e) {
      q[r][e] *= s.scale * per_log2;
      o[r][e] = 0.0f;
    }
  }
  __syncthreads();

  for (std::int64_t step = begin; step < end; step += span_keys) {
    const int from = static_cast<int>(step), to = static_cast<int>(min(step + span_keys, end));
    bool any = false;
#pragma unroll
    for (int r = 0; r < span_rows; ++r) any = any || seen[r].sees_any(from, to);
    if (!any) continue;  // all threads together

    const auto seen_by_any = [&](int key) {
      bool by_any = false;
#pragma unroll
      for (int r = 0; r < span_rows; ++r) by_any = by_any || seen[r].sees(key);
      return by_any && key < to;
    };

    score_keys<D>(from, to, first_key, element, read_k, seen_by_any, q, rows);
    __syncthreads();
    softmax_rows(thread, rows);
    __syncthreads();
    add_values<D>(from, first_key, read_v, seen_by_any, rows, o);
    __syncthreads();  // the weights have been read
  }
  store_rows<T, D>(args, by, thread, first_key, element, head_dim, row_of, o, rows);
}

/// A block for each row.
template <typename T>
__global__ void __launch_bounds__(span_threads) join_spans(SpanAttention args, std::int64_t parts) {
  const std::int64_t row = blockIdx.x, head_dim = args.shape.head_dim;
  float most = -infinite, total = 0.0f;
  for (std::int64_t p = 0; p < parts; ++p) {
    const float* part = partial_row(args, row, p, parts);
    if (part[1] != 0.0f) most = fmaxf(most, part[0]);
  }
  for (std::int64_t p = 0; p < parts; ++p) {
    const float* part = partial_row(args, row, p, parts);
    if (part[1] != 0.0f) total += part[1] * exp2f(part[0] - most);
  }
  if (total == 0.0f) return;  // it sees no key
  T* o = static_cast<T*>(args.o) + row * head_dim;
  for (std::int64_t d = threadIdx.x; d < head_dim; d += span_threads) {
    float sum = 0.0f;
    for (std::int64_t p = 0; p < parts; ++p) {
      const float* part = partial_row(args, row, p, parts);
      if (part[1] != 0.0f) sum = fmaf(part[2 + d], exp2f(part[0] - most), sum);
    }
    o[d] = from_float<T>(sum / total);
  }
}

/// Calls f with D, the head dim rounded up to what the kernels are written for, as an integral constant.
template <typename F>
void dispatch_span_dim(const SpanAttentionShape& s, F&& f) {
  if (s.head_dim <= 64) return f(std::integral_constant<int, 64>{});
  if (s.head_dim <= 128) return f(std::integral_constant<int, 128>{});
  if (s.head_dim <= 256) return f(std::integral_constant<int, 256>{});
  throw usage_error("kernels", "attention to spans: head_dim {}, at most 256", s.head_dim);
}

}  // namespace
}  // namespace attention

std::int64_t span_attention_workspace(const SpanAttention& args) {
  const SpanAttentionShape& s = args.shape;
  const std::int64_t parts = attention::division_of(s).parts;
  return parts == 1 ? 0 : s.queries * s.heads * parts * (s.head_dim + 2) * size_of(DType::f32);
}

void span_attention(Stream& stream, const SpanAttention& args) {
  using namespace attention;
  check_operands(args);
  const SpanAttentionShape& s = args.shape;
  if (s.queries * s.heads == 0) return;
  const SpanDivision by = division_of(s);
  dispatch_storage(s.dtype, [&]<typename T>(T) {
    const bool full = s.head_dim % 8 == 0;
    dispatch_span_dim(s, [&]<int D>(std::integral_constant<int, D>) {
      const dim3 blocks(static_cast<unsigned>(by.row_tiles), static_cast<unsigned>(s.kv_heads),
                        static_cast<unsigned>(by.parts));
      span_parts<T, D><<<blocks, span_threads, 0, native(stream)>>>(args, by, full);
    });
    check_launch("span_attention");
    if (by.parts == 1) return;
    join_spans<T><<<static_cast<unsigned>(s.queries * s.heads), span_threads, 0, native(stream)>>>(args, by.parts);
    check_launch("span_attention: parts");
  });
}

}  // namespace octet::cuda
