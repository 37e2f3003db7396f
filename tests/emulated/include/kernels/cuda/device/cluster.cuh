#pragma once

#include "kernels/cuda/host/cluster.h"
#include "tests/emulated/emulated_launch.h"

/// In place of kernels/cuda/device/cluster.cuh.
namespace octet::cuda {

inline unsigned cluster_rank() {
  return emulated::cluster_rank();
}
inline void cluster_barrier() {
  emulated::cluster_barrier();
}
template <typename T>
const T* in_block(const T* shared, unsigned rank) {
  return static_cast<const T*>(emulated::in_block(shared, rank));
}

template <typename... Parameters, typename... Arguments>
void launch_clusters(void (*kernel)(Parameters...), const ClusterShape& shape, unsigned clusters, cudaStream_t stream,
                     const Arguments&... arguments) {
  emulated::Launch("a kernel in clusters", clusters * shape.blocks, shape.threads,
                   static_cast<std::size_t>(shape.shared), stream, shape.blocks)(kernel, arguments...);
}

}  // namespace octet::cuda
