#pragma once

#include <cstdint>

#include "kernels/cuda/launch.h"
#include "kernels/cuda/vector.cuh"

/// What RMSNorm forward and backward share. One block works on one row at a time, the row spread over its threads in
/// packs of 16 bytes: thread t has packs t, t + blockDim.x, ... in registers, so that a row is read once.
namespace octet::cuda::rmsnorm {

constexpr int most_threads = 512;
constexpr int threads_any = 256;  ///< of the kernels for any dim and alignment

/// Threads, a multiple of 32, that hold `dim` elements of T with `packs` packs each.
template <typename T>
unsigned threads_for(std::int64_t dim, int packs) {
  return static_cast<unsigned>(ceil_div(ceil_div(dim / Pack<T>::size, packs), 32) * 32);
}
/// The widest row that `threads` hold so.
template <typename T>
constexpr std::int64_t widest(int threads, int packs) {
  return std::int64_t{threads} * packs * Pack<T>::size;
}
/// Packs a thread of the kernel for the widest rows, which have 16384 elements.
template <typename T>
constexpr int most_packs = 16384 / (most_threads * Pack<T>::size);

/// Index of pack p of this thread.
__device__ __forceinline__ int pack_index(int p) {
  return p * static_cast<int>(blockDim.x) + static_cast<int>(threadIdx.x);
}

}  // namespace octet::cuda::rmsnorm
