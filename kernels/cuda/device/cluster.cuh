#pragma once

#include <cuda_runtime.h>

#include "kernels/cuda/host/cluster.h"
#include "src/device/cuda/check.h"

/// What the blocks of a cluster do together. Kernels that use it are launched where there are clusters only.
namespace octet::cuda {

/// The block's number within its cluster.
__device__ __forceinline__ unsigned cluster_rank() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  return __clusterRelativeBlockRank();
#else
  __trap();
  return 0;
#endif
}

/// All threads of all blocks of the cluster: what was written to memory before, everyone sees after.
__device__ __forceinline__ void cluster_barrier() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  __cluster_barrier_arrive();
  __cluster_barrier_wait();
#else
  __trap();
#endif
}

/// The same place in the shared memory of block `rank` of the cluster, which must not have ended.
template <typename T>
__device__ __forceinline__ const T* in_block(const T* shared, unsigned rank) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  return static_cast<const T*>(__cluster_map_shared_rank(shared, rank));
#else
  __trap();
  return nullptr;
#endif
}

template <typename... Parameters, typename... Arguments>
void launch_clusters(void (*kernel)(Parameters...), const ClusterShape& shape, unsigned clusters, cudaStream_t stream,
                     const Arguments&... arguments) {
  const ClusterConfig config(shape, clusters, stream);
  check(cudaLaunchKernelEx(&config.get(), kernel, arguments...), "launching clusters of blocks");
}

}  // namespace octet::cuda
