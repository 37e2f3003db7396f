#pragma once

#include <cuda_runtime.h>

namespace octet::cuda {

/// A sum over the warp that every lane gets: the two addends of each step are the same for both lanes.
__device__ __forceinline__ float warp_sum(float x) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) x += __shfl_xor_sync(~0u, x, distance);
  return x;
}

/// A sum over the block in a fixed order that every thread gets. All threads call it; blockDim.x is a multiple of 32.
/// `warps`: 32 floats in shared memory, which may be the same for call after call.
__device__ __forceinline__ float block_sum(float x, float* warps) {
  x = warp_sum(x);
  if (blockDim.x == 32) return x;
  const unsigned lane = threadIdx.x % 32;
  __syncthreads();  // the sum before this one has been read
  if (lane == 0) warps[threadIdx.x / 32] = x;
  __syncthreads();
  return warp_sum(lane < blockDim.x / 32 ? warps[lane] : 0.0f);
}

}  // namespace octet::cuda
