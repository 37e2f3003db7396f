#pragma once

#include <cuda_pipeline_primitives.h>
#include <cuda_runtime.h>

#include "src/device/cuda/check.h"

/// Dynamic shared memory, and copies into it that go on while their thread does something else: bytes under way that
/// take no registers.
namespace octet::cuda {

/// The block's dynamic shared memory, on 16 bytes.
template <typename T>
__device__ __forceinline__ T* dynamic_shared() {
  extern __shared__ int4 dynamic_shared_memory[];
  return reinterpret_cast<T*>(dynamic_shared_memory);
}

/// 16 bytes, past the L1 cache, or 8; both addresses are multiples of that.
template <int bytes = 16>
__device__ __forceinline__ void copy_async(void* shared, const void* global) {
  __pipeline_memcpy_async(shared, global, bytes);
}
/// The thread's copies since the last commit become a group.
__device__ __forceinline__ void commit_copies() {
  __pipeline_commit();
}
/// Until all but the thread's `newest` groups are there, for this thread itself; others need a barrier. The compiler
/// may not read shared memory before it either, which the primitive does not say to it.
template <int newest>
__device__ __forceinline__ void wait_for_copies() {
  __pipeline_wait_prior(newest);
  asm volatile("" ::: "memory");
}

/// Host side: what a block may ask for on the current device.
inline int most_shared_memory() {
  int device = 0, bytes = 0;
  check(cudaGetDevice(&device), "asking for the current device");
  check(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
        "asking how much shared memory a block may have");
  return bytes;
}

/// More than 48 KiB has to be asked for; and as many blocks as fit are to share a multiprocessor, at the cost of L1.
template <typename Kernel>
void allow_shared_memory(Kernel* kernel, int bytes) {
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes), "asking for shared memory");
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared),
        "asking for shared memory before L1");
}

}  // namespace octet::cuda
