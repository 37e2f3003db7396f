#pragma once

#include <cstdint>

#include "kernels/attention.h"
#include "kernels/cuda/device/shared_memory.cuh"
#include "kernels/cuda/device/vector.cuh"
#include "kernels/cuda/host/launch.h"

/// What the fallback's kernels share: products of fp32 tiles in shared memory by a block of 256 threads.
///
/// A block owns B rows (queries, or keys for dk and dv) and goes through tiles of B other rows. Thread (x, y) of
/// 16 × 16 has, of the own rows, M = B / 16 adjacent ones from y · M on, and of a [own, other] tile the columns x,
/// x + 16, ...; of a [own, depth] accumulator it has the four columns from 4 · x + 64 · c on, for each c.
/// Row strides of [B, D] in shared memory are 4 more than a multiple of 32, which keeps 16-byte accesses free of
/// conflicts.
namespace octet::cuda::attention {

constexpr int threads = 256;
constexpr float log2_e = 1.44269504088896341f;
constexpr float ln_2 = 0.693147180559945309f;
constexpr std::int64_t max_head_dim = 256;

/// Sizes for tiles of B rows and head dims up to D (zeros are added).
template <int D, int B>
struct Tile {
  static constexpr int M = B / 16;
  static constexpr int stride = D + 4;  ///< of [B, D], in floats
  static constexpr int floats = B * stride;
  static constexpr int weight_stride = B + 4;  ///< of [other, own]
  static constexpr int weight_floats = B * weight_stride;
  static constexpr int chunks = D / 64;
  static_assert(B % 16 == 0 && D % 64 == 0);

  using Scores = float[M][M];               ///< [own, other]
  using Accumulator = float[M][chunks][4];  ///< [own, depth]

  __device__ static int x() { return static_cast<int>(threadIdx.x % 16); }
  __device__ static int own(int i) { return static_cast<int>(threadIdx.x / 16) * M + i; }
  __device__ static int other(int j) { return x() + 16 * j; }
};

/// Rows of a tile where a block may have as much shared memory as Hopper's. Backward's holds four tiles of [rows, D],
/// forward's two.
inline constexpr int forward_rows = 64;
template <int D>
inline constexpr int backward_rows = D <= 64 ? 64 : 32;
/// Dynamic shared memory of a launch with tiles of B rows, in bytes.
template <int D, int B>
inline constexpr int forward_shared = (2 * Tile<D, B>::floats + Tile<D, B>::weight_floats) * 4;
template <int D, int B>
inline constexpr int backward_shared = (4 * Tile<D, B>::floats + 2 * Tile<D, B>::weight_floats) * 4;

/// What a block may have on every GPU that Octet runs on: those of compute capability 8.6 and 8.9 have no more. Where
/// that is too little, tiles have half as many rows.
inline constexpr int least_shared_memory = 99 * 1024;
static_assert(forward_shared<128, forward_rows> <= least_shared_memory &&
              forward_shared<256, forward_rows / 2> <= least_shared_memory);
static_assert(backward_shared<64, backward_rows<64> / 2> <= least_shared_memory &&
              backward_shared<128, backward_rows<128>> <= least_shared_memory &&
              backward_shared<256, backward_rows<256> / 2> <= least_shared_memory);

/// One head of a [batch, seq, heads, head_dim] tensor.
template <typename T>
struct Head {
  T* data;
  std::int64_t stride;  ///< from row to row
  std::int64_t seq;
  int head_dim;

  __device__ Head(T* x, const AttentionShape& s, std::int64_t heads, std::int64_t batch, std::int64_t head)
      : data(x + (batch * s.seq * heads + head) * s.head_dim),
        stride(heads * s.head_dim),
        seq(s.seq),
        head_dim(static_cast<int>(s.head_dim)) {}
};

/// The score of a key of another document. It is finite, so that a query all of whose keys so far were such ones has a
/// maximum; the first key of its own document takes what they left, times zero.
constexpr float masked = -1e30f;

/// Where the documents of a row's queries begin; 0 without any.
struct Documents {
  const std::int32_t* begin;  ///< [seq], never falling; null: there is one

  __device__ Documents(const std::int32_t* of_all, const AttentionShape& s, std::int64_t batch)
      : begin(of_all == nullptr ? nullptr : of_all + batch * s.seq) {}
  __device__ std::int64_t of(std::int64_t query) const { return begin == nullptr ? 0 : begin[query]; }
};

/// tile[B, D] = rows [first, first + B) × factor, zero beyond the sequence and the head dim.
template <int D, int B, typename T>
__device__ __forceinline__ void read_tile(const Head<const T>& head, std::int64_t first, float factor, float* tile) {
#pragma unroll 4
  for (int i = static_cast<int>(threadIdx.x); i < B * D; i += threads) {
    const int r = i / D, d = i % D;
    const bool inside = first + r < head.seq && d < head.head_dim;
    tile[r * Tile<D, B>::stride + d] = inside ? to_float(head.data[(first + r) * head.stride + d]) * factor : 0.0f;
  }
}

/// Own rows × factor[i] to the tensor.
template <int D, int B, typename T>
__device__ __forceinline__ void write_rows(const Head<T>& head, std::int64_t first,
                                           const typename Tile<D, B>::Accumulator& rows,
                                           const float (&factor)[B / 16]) {
  using Tile = Tile<D, B>;
#pragma unroll
  for (int i = 0; i < Tile::M; ++i) {
    const std::int64_t row = first + Tile::own(i);
    if (row >= head.seq) continue;
#pragma unroll
    for (int c = 0; c < Tile::chunks; ++c) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int d = 64 * c + 4 * Tile::x() + e;
        if (d < head.head_dim) head.data[row * head.stride + d] = from_float<T>(rows[i][c][e] * factor[i]);
      }
    }
  }
}

__device__ __forceinline__ float4 read4(const float* p) {
  return *reinterpret_cast<const float4*>(p);
}

/// s = own · otherᵀ over the depth.
template <int D, int B>
__device__ __forceinline__ void inner_products(const float* own, const float* other, typename Tile<D, B>::Scores& s) {
  using Tile = Tile<D, B>;
#pragma unroll
  for (int i = 0; i < Tile::M; ++i) {
#pragma unroll
    for (int j = 0; j < Tile::M; ++j) s[i][j] = 0.0f;
  }
#pragma unroll 2
  for (int d = 0; d < D; d += 4) {
    float4 b[Tile::M];
#pragma unroll
    for (int j = 0; j < Tile::M; ++j) b[j] = read4(other + Tile::other(j) * Tile::stride + d);
#pragma unroll
    for (int i = 0; i < Tile::M; ++i) {
      const float4 a = read4(own + Tile::own(i) * Tile::stride + d);
#pragma unroll
      for (int j = 0; j < Tile::M; ++j) {
        s[i][j] = fmaf(a.x, b[j].x, s[i][j]);
        s[i][j] = fmaf(a.y, b[j].y, s[i][j]);
        s[i][j] = fmaf(a.z, b[j].z, s[i][j]);
        s[i][j] = fmaf(a.w, b[j].w, s[i][j]);
      }
    }
  }
}

/// This thread's part of a [own, other] tile into shared memory, as [other, own].
template <int D, int B>
__device__ __forceinline__ void put_weights(const typename Tile<D, B>::Scores& s, float* weights) {
  using Tile = Tile<D, B>;
#pragma unroll
  for (int j = 0; j < Tile::M; ++j) {
#pragma unroll
    for (int i = 0; i < Tile::M; ++i) weights[Tile::other(j) * Tile::weight_stride + Tile::own(i)] = s[i][j];
  }
}

/// sum[own, depth] += weightsᵀ · other, in the order of the other rows.
template <int D, int B>
__device__ __forceinline__ void accumulate(const float* weights, const float* other,
                                           typename Tile<D, B>::Accumulator& sum) {
  using Tile = Tile<D, B>;
#pragma unroll 2
  for (int n = 0; n < B; ++n) {
    float w[Tile::M];
#pragma unroll
    for (int i = 0; i < Tile::M; ++i) w[i] = weights[n * Tile::weight_stride + Tile::own(i)];
#pragma unroll
    for (int c = 0; c < Tile::chunks; ++c) {
      const float4 v = read4(other + n * Tile::stride + 64 * c + 4 * Tile::x());
#pragma unroll
      for (int i = 0; i < Tile::M; ++i) {
        sum[i][c][0] = fmaf(w[i], v.x, sum[i][c][0]);
        sum[i][c][1] = fmaf(w[i], v.y, sum[i][c][1]);
        sum[i][c][2] = fmaf(w[i], v.z, sum[i][c][2]);
        sum[i][c][3] = fmaf(w[i], v.w, sum[i][c][3]);
      }
    }
  }
}

/// Calls f with the rows of a tile, as an integral constant: `rows`, of which a launch takes `bytes` of shared memory,
/// or half as many on a GPU whose blocks may not have that. The bits of the forward pass depend on them.
template <int rows, int bytes, typename F>
void dispatch_rows(F&& f) {
  if constexpr (bytes > least_shared_memory) {
    if (bytes > most_shared_memory()) return f(std::integral_constant<int, rows / 2>{});
  }
  f(std::integral_constant<int, rows>{});
}

/// Calls f with D, the head dim rounded up to what the kernels are written for, as an integral constant.
template <typename F>
void dispatch_head_dim(const AttentionShape& s, F&& f) {
  if (s.head_dim <= 64) return f(std::integral_constant<int, 64>{});
  if (s.head_dim <= 128) return f(std::integral_constant<int, 128>{});
  if (s.head_dim <= max_head_dim) return f(std::integral_constant<int, 256>{});
  throw usage_error("kernels", "attention: head_dim {}, without cuDNN at most {}", s.head_dim, max_head_dim);
}

}  // namespace octet::cuda::attention
