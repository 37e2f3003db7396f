#include "kernels/cuda/host/cluster.h"

#include <map>
#include <mutex>
#include <tuple>

#include "src/device/cuda/check.h"

namespace octet::cuda {
namespace {

constexpr unsigned portable_cluster = 8;

/// Of one kernel and shape. What the kernel is allowed is the device's most, and not the shape's: that is kept with the
/// kernel, where the shape asked for last would take from one asked for before.
int ask(const void* kernel, const ClusterShape& shape, int device) {
  int most_shared = 0;
  check(cudaDeviceGetAttribute(&most_shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
        "asking how much shared memory a block may have");
  cudaFuncAttributes attributes{};
  check(cudaFuncGetAttributes(&attributes, kernel), "asking for a kernel's shared memory");
  most_shared -= static_cast<int>(attributes.sharedSizeBytes);
  if (!has_clusters() || shape.shared > most_shared) return 0;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most_shared),
        "asking for shared memory");
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared),
        "asking for shared memory before L1");
  if (shape.blocks > portable_cluster) {
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1),
          "asking for clusters of more than eight blocks");
  }
  const ClusterConfig config(shape, 1, nullptr);
  int clusters = 0;
  const cudaError_t status = cudaOccupancyMaxActiveClusters(&clusters, kernel, &config.get());
  if (status == cudaErrorInvalidClusterSize) {
    cudaGetLastError();
    return 0;
  }
  check(status, "asking how many clusters run at once");
  return clusters;
}

}  // namespace

bool has_clusters() {
  int device = 0, has = 0;
  check(cudaGetDevice(&device), "asking for the current device");
  check(cudaDeviceGetAttribute(&has, cudaDevAttrClusterLaunch, device), "asking for clusters of blocks");
  return has != 0;
}

int resident_clusters(const void* kernel, const ClusterShape& shape) {
  static std::mutex mutex;
  static std::map<std::tuple<const void*, unsigned, unsigned, int, int>, int> known;
  int device = 0;
  check(cudaGetDevice(&device), "asking for the current device");
  const std::lock_guard lock(mutex);
  const auto [answer, is_new] = known.try_emplace({kernel, shape.blocks, shape.threads, shape.shared, device}, 0);
  if (is_new) answer->second = ask(kernel, shape, device);
  return answer->second;
}

}  // namespace octet::cuda
