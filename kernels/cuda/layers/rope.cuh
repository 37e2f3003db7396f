#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/device/packs.cuh"
#include "kernels/cuda/device/stats_fold.cuh"
#include "kernels/rope.h"

/// The parts of rope: rows of heads (rope.cu), and tiles of them that are written transposed too (rope_tiles.cu).
namespace octet::cuda::rope_parts {

/// Of `size` neighbouring pairs.
template <int size>
struct Angles {
  float cos[size], sin[size];
};

/// (a, b) -> (a · cos - b · sin, b · cos + a · sin), rounded to T; returns their statistics.
template <typename T, int size>
__device__ __forceinline__ StatsFold rotate(Chunk<T, size>& a, Chunk<T, size>& b, const Angles<size>& by) {
  StatsFold fold;
#pragma unroll
  for (int j = 0; j < size; ++j) {
    const float x = to_float(a.v[j]), y = to_float(b.v[j]);
    a.v[j] = from_float<T>(x * by.cos[j] - y * by.sin[j]);
    b.v[j] = from_float<T>(y * by.cos[j] + x * by.sin[j]);
    fold.add(to_float(a.v[j]));
    fold.add(to_float(b.v[j]));
  }
  return fold;
}

/// The angle's row of a token in the tables.
__device__ __forceinline__ std::int64_t position_of(const Rope& args, std::int64_t token) {
  unsigned position = static_cast<unsigned>(token) % static_cast<unsigned>(args.seq);
  if (args.document_begin != nullptr) position -= static_cast<unsigned>(args.document_begin[token]);
  return position;
}

/// Heads are counted through, those of k behind those of q.
inline __host__ __device__ unsigned q_heads_of(const Rope& args) {
  return static_cast<unsigned>(args.q.x == nullptr ? 0 : args.q.count);
}

/// By tiles. `wide`: 16 bytes can be read at once, and the codes of as many elements written.
template <typename T>
void launch_tiles(cudaStream_t stream, const Rope& args, bool wide);

}  // namespace octet::cuda::rope_parts
