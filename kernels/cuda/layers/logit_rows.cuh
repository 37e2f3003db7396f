#pragma once

#include <cstdint>

#include "kernels/cuda/device/online_sum.cuh"
#include "kernels/cuda/device/vector.cuh"

/// A block's work on one row of logits: for the kernel that has all of the row, and for the two that have a part of it.
namespace octet::cuda::logit_rows {

constexpr int most_threads = 1024;
inline unsigned threads_for(std::int64_t vocab) {
  return vocab >= 16384 ? most_threads : vocab >= 2048 ? 256 : 64;
}

constexpr int unroll = 4;  // loads under way in a thread
__device__ __forceinline__ void merge_warp(OnlineSum& sum) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) {
    sum.merge(__shfl_xor_sync(~0u, sum.max, distance), __shfl_xor_sync(~0u, sum.sum, distance));
  }
}

/// Every thread gets the block's. A barrier: what a thread read before it, another may overwrite after it.
__device__ __forceinline__ void merge_block(OnlineSum& sum) {
  __shared__ float maxima[32], sums[32];
  merge_warp(sum);
  const unsigned lane = threadIdx.x % 32;
  if (lane == 0) {
    maxima[threadIdx.x / 32] = sum.max;
    sums[threadIdx.x / 32] = sum.sum;
  }
  __syncthreads();
  const bool filled = lane < blockDim.x / 32;
  sum = {filled ? maxima[lane] : -infinity, filled ? sums[lane] : 0.0f};
  merge_warp(sum);
}

/// V consecutive values: 4 by one access, or 1.
template <int V>
__device__ __forceinline__ void read(const float* x, float (&v)[V]) {
  if constexpr (V == 4) {
    const Pack<float> pack = load_mutable(x);
#pragma unroll
    for (int j = 0; j < V; ++j) v[j] = pack.v[j];
  } else {
    v[0] = *x;
  }
}
template <int V, typename T>
__device__ __forceinline__ void write(T* d, const float (&v)[V]) {
  struct alignas(V * sizeof(T)) {
    T v[V];
  } values;
#pragma unroll
  for (int j = 0; j < V; ++j) values.v[j] = from_float<T>(v[j]);
  *reinterpret_cast<decltype(values)*>(d) = values;
}

template <int V>
__device__ OnlineSum sum_row(const float* x, std::int64_t vocab) {
  OnlineSum online;
  for (std::int64_t begin = 0; begin < vocab; begin += std::int64_t{blockDim.x} * unroll * V) {
    float v[unroll][V];
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      const std::int64_t i = begin + (u * std::int64_t{blockDim.x} + threadIdx.x) * V;
#pragma unroll
      for (int j = 0; j < V; ++j) v[u][j] = -infinity;
      if (i < vocab) read<V>(x + i, v[u]);
    }
    online.add(reinterpret_cast<const float(&)[unroll * V]>(v));
  }
  merge_block(online);
  return online;
}

/// Writes what a row that does not count has: no loss and no gradient. d may be null.
template <int V, typename T>
__device__ void write_zeros(float* loss, T* d, std::int64_t vocab) {
  if (threadIdx.x == 0) *loss = 0.0f;
  if (d == nullptr) return;
  const float zeros[V] = {};
  for (std::int64_t g = threadIdx.x; g < vocab / V; g += blockDim.x) write<V>(d + g * V, zeros);
}

/// `target`: a column, or one outside the row when another part holds it.
/// From the end of the row to its beginning: what was read last is in the L2 cache still.
template <int V, typename T>
__device__ void write_gradient(const float* x, T* d, std::int64_t vocab, OnlineSum softmax, std::int64_t target,
                               float scale) {
  const float factor = scale / softmax.sum;
  const std::int64_t groups = vocab / V;
  for (std::int64_t g = groups - 1 - threadIdx.x; g >= 0; g -= blockDim.x) {
    float v[V];
    read<V>(x + g * V, v);
#pragma unroll
    for (int j = 0; j < V; ++j) {
      v[j] = gradient_of(v[j], softmax, g * V + j == target, scale, factor);
    }
    write<V>(d + g * V, v);
  }
}

}  // namespace octet::cuda::logit_rows
