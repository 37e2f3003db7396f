#pragma once

#include <cstdint>

#include "kernels/cuda/device/packs.cuh"
#include "kernels/cuda/device/row_reduce.cuh"
#include "kernels/span_attention.h"

/// The four stages of span_attention's kernel (span_attention.cu says how its work is divided): for each step of keys,
/// scores, probabilities and weighted values, and at the end what is written. A block has eight rows. D / 8 of its
/// threads share a key: each has the eight elements from `element` on, of the keys `first_key`, first_key + at_once,
/// ... of a step. All are inlined into the one kernel, whose code is the same as if they stood there.
namespace octet::cuda::attention {

constexpr int span_threads = 128, span_rows = 8, span_keys = 128;  ///< keys of one step of a block
constexpr float per_log2 = 1.44269504088896341f, infinite = __builtin_huge_valf();

/// How the work is divided; it follows from the shape.
struct SpanDivision {
  std::int64_t group, row_tiles, parts, part_keys;
};

/// What a part of the keys gives to a row, where there are several: [queries, heads, parts] of {max, sum, o[head_dim]},
/// o not yet divided. Where the row sees no key of the part, sum is 0 and o is not written.
__device__ __forceinline__ float* partial_row(const SpanAttention& args, std::int64_t row, std::int64_t part,
                                              std::int64_t parts) {
  return static_cast<float*>(args.workspace) + (row * parts + part) * (args.shape.head_dim + 2);
}

/// The keys that a row sees.
struct Spans {
  int4 span;
  __device__ bool sees(int key) const { return (key >= span.x && key < span.y) || (key >= span.z && key < span.w); }
  __device__ bool sees_any(int begin, int end) const {
    return max(span.x, begin) < min(span.y, end) || max(span.z, begin) < min(span.w, end);
  }
};

/// Eight elements from p on as floats; `full`: in accesses of 16 bytes, otherwise the first `count` of them.
template <typename T>
__device__ __forceinline__ void read8(const T* p, bool full, int count, float (&to)[8]) {
  constexpr int size = 16 / sizeof(T);
#pragma unroll
  for (int i = 0; i < 8; i += size) {
    const Chunk<T, size> chunk = full ? read<true, size>(p + i, size) : read<false, size>(p + i, count - i);
#pragma unroll
    for (int j = 0; j < size; ++j) to[i + j] = to_float(chunk.v[j]);
  }
}

__device__ __forceinline__ float warp_max(float x) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) x = fmaxf(x, __shfl_xor_sync(~0u, x, distance));
  return x;
}

/// What the threads of a block tell each other of its rows, in shared memory.
struct SharedRows {
  float (&weights)[span_rows][span_keys];  ///< scores, then probabilities
  float (&largest)[span_rows];             ///< scores so far
  float (&total)[span_rows];               ///< of the probabilities so far
  float (&factor)[span_rows];              ///< that takes sums under the former maximum to the present one
  Spans (&seen)[span_rows];
  float (&gathered)[span_threads * 8];
};

/// Stage 1: the scores of the keys [from, to) for every row, -infinite where a row does not see the key.
/// `read_k(key, k)`: the thread's elements of a key; `seen_by_any(key)`: whether any row sees it.
template <int D, typename ReadKey, typename Seen>
__device__ __forceinline__ void score_keys(int from, int to, int first_key, int element, const ReadKey& read_k,
                                           const Seen& seen_by_any, const float (&q)[span_rows][8],
                                           const SharedRows& rows) {
  constexpr int of_key = D / 8, at_once = span_threads / of_key;
#pragma unroll 2
  for (int i = first_key; i < span_keys; i += at_once) {
    float k[8] = {};
    const int key = from + i;
    if (seen_by_any(key)) read_k(key, k);
#pragma unroll
    for (int r = 0; r < span_rows; ++r) {
      float score = 0.0f;
#pragma unroll
      for (int e = 0; e < 8; ++e) score = fmaf(q[r][e], k[e], score);
#pragma unroll
      for (int distance = of_key / 2; distance > 0; distance /= 2) {
        score += __shfl_xor_sync(~0u, score, distance);
      }
      if (element == 0) rows.weights[r][i] = rows.seen[r].sees(key) && key < to ? score : -infinite;
    }
  }
}

/// Stage 2: scores to probabilities under the maximum so far. A warp has two rows.
__device__ __forceinline__ void softmax_rows(int thread, const SharedRows& rows) {
#pragma unroll
  for (int r = thread / 32; r < span_rows; r += span_threads / 32) {
    float score[span_keys / 32], most = rows.largest[r];
#pragma unroll
    for (int j = 0; j < span_keys / 32; ++j) {
      score[j] = rows.weights[r][thread % 32 + 32 * j];
      most = fmaxf(most, score[j]);
    }
    most = warp_max(most);
    const float base = most == -infinite ? 0.0f : most;
    float sum = 0.0f;
#pragma unroll
    for (int j = 0; j < span_keys / 32; ++j) {
      score[j] = exp2f(score[j] - base);
      sum += score[j];
      rows.weights[r][thread % 32 + 32 * j] = score[j];
    }
    sum = warp_sum(sum);
    __syncwarp();  // the row's largest has been read
    if (thread % 32 == 0) {
      rows.factor[r] = exp2f(rows.largest[r] - base);
      rows.total[r] = rows.total[r] * rows.factor[r] + sum;
      rows.largest[r] = most;
    }
  }
}

/// Stage 3: the values of the step's keys enter the thread's sums by their probabilities, after the factor.
template <int D, typename ReadKey, typename Seen>
__device__ __forceinline__ void add_values(int from, int first_key, const ReadKey& read_v, const Seen& seen_by_any,
                                           const SharedRows& rows, float (&o)[span_rows][8]) {
  constexpr int of_key = D / 8, at_once = span_threads / of_key;
#pragma unroll
  for (int r = 0; r < span_rows; ++r) {
    const float f = rows.factor[r];
#pragma unroll
    for (int e = 0; e < 8; ++e) o[r][e] *= f;
  }
#pragma unroll 2
  for (int i = first_key; i < span_keys; i += at_once) {
    const int key = from + i;
    if (!seen_by_any(key)) continue;
    float v[8];
    read_v(key, v);
#pragma unroll
    for (int r = 0; r < span_rows; ++r) {
      const float weight = rows.weights[r][i];
#pragma unroll
      for (int e = 0; e < 8; ++e) o[r][e] = fmaf(weight, v[e], o[r][e]);
    }
  }
}

/// Stage 4, of `row_of(r)` among [queries, heads] or -1: adds the sums of the threads that took keys apart, one row
/// after the other, and writes the output, or the row's share of it where there are several parts.
template <typename T, int D, typename RowOf>
__device__ __forceinline__ void store_rows(const SpanAttention& args, const SpanDivision& by, int thread, int first_key,
                                           int element, int head_dim, const RowOf& row_of,
                                           const float (&o)[span_rows][8], const SharedRows& rows) {
  constexpr int of_key = D / 8, at_once = span_threads / of_key;
#pragma unroll
  for (int r = 0; r < span_rows; ++r) {
    const std::int64_t row = row_of(r);
    if (row < 0) break;  // all threads together
    float* partial = by.parts > 1 ? partial_row(args, row, blockIdx.z, by.parts) : nullptr;
    if (partial != nullptr && thread == 0) {
      partial[0] = rows.largest[r];
      partial[1] = rows.total[r];
    }
    if (rows.total[r] == 0.0f) continue;  // it sees no key of the part
    __syncthreads();
#pragma unroll
    for (int e = 0; e < 8; ++e) rows.gathered[first_key * D + element + e] = o[r][e];
    __syncthreads();
    for (int d = thread; d < head_dim; d += span_threads) {
      float sum = 0.0f;
      for (int i = 0; i < at_once; ++i) sum += rows.gathered[i * D + d];
      if (partial != nullptr) {
        partial[2 + d] = sum;
      } else {
        static_cast<T*>(args.o)[row * head_dim + d] = from_float<T>(sum / rows.total[r]);
      }
    }
  }
}

}  // namespace octet::cuda::attention
