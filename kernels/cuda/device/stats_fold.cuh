#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/host/launch.h"
#include "kernels/stats.h"

namespace octet::cuda {

/// Adds n to a counter that stops at the largest number. A thread whose addition overflows sets it to that number, and
/// this holds even if another thread has counted on from the wrapped value: adding to the largest number overflows
/// again. So the end is the same in any order. A branch in the place of the maximum with 0 would take a kernel of rope
/// 13 registers more.
__device__ __forceinline__ void count_with_a_stop(unsigned* counter, unsigned n) {
  constexpr unsigned largest = ~0u;
  const unsigned before = atomicAdd(counter, n);
  atomicMax(counter, before > largest - n ? largest : 0u);
}

/// One thread's running statistics of the values that it stores, as the CPU's StatsFold: the maximum is kept as the
/// integer bits of |x|, so an integer maximum propagates NaN, and atomics on integers give the same bits in any order.
struct StatsFold {
  unsigned max_bits = 0;
  unsigned non_finite = 0;

  /// A value as stored (rounded to the storage type).
  __device__ __forceinline__ void add(float x) {
    const unsigned magnitude = __float_as_uint(x) & 0x7FFFFFFFu;
    max_bits = max(max_bits, magnitude);
    non_finite += magnitude >= 0x7F800000u ? 1u : 0u;
  }

  /// Likewise for the maximum alone.
  __device__ __forceinline__ void raise(float x) { max_bits = max(max_bits, __float_as_uint(x) & 0x7FFFFFFFu); }

  /// Another's, if `counts`; without a branch.
  __device__ __forceinline__ void add(const StatsFold& other, bool counts) {
    max_bits = max(max_bits, counts ? other.max_bits : 0);
    non_finite += counts ? other.non_finite : 0;
  }

  /// All threads of the block call it, at the end of what they fold, fewer than 2^32 values; another fold may follow.
  /// Blocks are one-dimensional, of whole warps. A block has one number to tell, and only tells what raises *amax:
  /// atomics on one address go one after the other, about a nanosecond each, which a warp of every block at once would
  /// feel.
  __device__ __forceinline__ void publish(const StatsOut& out) const {
    __shared__ unsigned maxima[32], counts[32];
    if (!out.wanted()) return;
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const unsigned warp_max = __reduce_max_sync(~0u, max_bits), warp_count = __reduce_add_sync(~0u, non_finite);
    __syncthreads();  // what another fold left there has been read
    if (lane == 0) {
      maxima[warp] = warp_max;
      counts[warp] = warp_count;
    }
    __syncthreads();
    if (warp != 0) return;
    const bool filled = lane < blockDim.x / 32;
    const unsigned block_max = __reduce_max_sync(~0u, filled ? maxima[lane] : 0);
    const unsigned block_count = __reduce_add_sync(~0u, filled ? counts[lane] : 0);
    if (lane != 0) return;
    auto* amax = reinterpret_cast<unsigned*>(out.amax);
    if (amax != nullptr && block_max > *static_cast<volatile unsigned*>(amax)) atomicMax(amax, block_max);
    if (out.non_finite != nullptr && block_count != 0) count_with_a_stop(out.non_finite, block_count);
  }
};

}  // namespace octet::cuda
