#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/launch.h"
#include "kernels/stats.h"

namespace octet::cuda {

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

  /// All threads of the block call it once, at the end. *amax must be zero before the kernel (see prepare).
  __device__ __forceinline__ void publish(const StatsOut& out) const {
    const unsigned lane = threadIdx.x % 32;
    if (out.amax != nullptr) {
      const unsigned warp_max = __reduce_max_sync(~0u, max_bits);
      if (lane == 0 && warp_max != 0) atomicMax(reinterpret_cast<unsigned*>(out.amax), warp_max);
    }
    if (out.non_finite != nullptr) {
      const unsigned warp_count = __reduce_add_sync(~0u, non_finite);
      if (lane == 0 && warp_count != 0) atomicAdd(out.non_finite, warp_count);
    }
  }
};

/// Zeroes *amax on the stream; before the launch of every kernel that publishes.
inline void prepare(const StatsOut& out, cudaStream_t stream) {
  if (out.amax != nullptr) check(cudaMemsetAsync(out.amax, 0, sizeof(float), stream), "zeroing an abs-max");
}

}  // namespace octet::cuda
