#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <mutex>
#include <vector>

#include "src/device/cuda/native_handles.h"

namespace octet::cuda {

/// The device's memory pool in the order of a stream of its own, so that neither call waits for the device: what is
/// freed is used again only after the work that every live stream was given before the free, and what is allocated is
/// used by no stream before that. A free therefore ties the streams together; steady states reuse their buffers.
/// Any thread. Throws as check(), but where it is said otherwise.
class StreamOrderedPool {
 public:
  /// Of the current device, which is number `device`.
  explicit StreamOrderedPool(int device);

  /// A stream that lives from now on, until remove(), which waits for its work.
  void add(cudaStream_t stream);
  void remove(cudaStream_t stream) noexcept;

  /// Returns what the driver says, cudaErrorMemoryAllocation where there is no memory left; throws only where the
  /// streams cannot be ordered.
  cudaError_t allocate(void** memory, std::int64_t bytes);
  /// A failure is logged.
  void deallocate(void* memory) noexcept;

 private:
  void order_behind(cudaStream_t stream);

  std::mutex mutex_;
  cudaMemPool_t pool_ = nullptr;
  StreamHandle order_;
  EventHandle point_;  ///< recorded anew for each order of two streams
  std::vector<cudaStream_t> streams_;
};

}  // namespace octet::cuda
