#pragma once

#include <cuda_runtime_api.h>

namespace octet::cuda {

/// A launch in clusters: groups of blocks that run at once and reach each other's shared memory (Hopper and later).
struct ClusterShape {
  unsigned blocks;   ///< of a cluster; 8 is the most that every such GPU takes, 16 an H100
  unsigned threads;  ///< of a block
  int shared;        ///< bytes of dynamic shared memory of a block
};

/// What CUDA wants to know of a launch of `clusters` clusters.
class ClusterConfig {
 public:
  ClusterConfig(const ClusterShape& shape, unsigned clusters, cudaStream_t stream) {
    attribute_.id = cudaLaunchAttributeClusterDimension;
    attribute_.val.clusterDim = {shape.blocks, 1, 1};
    config_.gridDim = dim3(clusters * shape.blocks);
    config_.blockDim = dim3(shape.threads);
    config_.dynamicSmemBytes = static_cast<std::size_t>(shape.shared);
    config_.stream = stream;
    config_.attrs = &attribute_;
    config_.numAttrs = 1;
  }
  ClusterConfig(const ClusterConfig&) = delete;
  ClusterConfig& operator=(const ClusterConfig&) = delete;

  const cudaLaunchConfig_t& get() const { return config_; }

 private:
  cudaLaunchAttribute attribute_{};
  cudaLaunchConfig_t config_{};
};

/// Says whether the current device has clusters. Of any thread.
bool has_clusters();

/// How many clusters of a kernel the current device holds at once; 0 where it cannot run them. Asks for the shared
/// memory too, as a launch needs it. Answers are remembered. Of any thread.
int resident_clusters(const void* kernel, const ClusterShape& shape);

}  // namespace octet::cuda
