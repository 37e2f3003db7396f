#include "src/device/cuda/stream_ordered_pool.h"

#include "src/base/log.h"
#include "src/device/cuda/check.h"

namespace octet::cuda {

StreamOrderedPool::StreamOrderedPool(int device)
    : order_(make_native_stream(StreamPriority::normal)), point_(make_native_event()) {
  check(cudaDeviceGetDefaultMemPool(&pool_, device), "the device's memory pool");
  std::uint64_t keep = UINT64_MAX;  // giving memory back to the driver would wait for the device
  check(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &keep), "the memory pool's threshold");
}

void StreamOrderedPool::add(cudaStream_t stream) {
  const std::scoped_lock lock(mutex_);
  order_behind(stream);
  streams_.push_back(stream);
}

void StreamOrderedPool::remove(cudaStream_t stream) noexcept {
  const std::scoped_lock lock(mutex_);
  cudaStreamSynchronize(stream);
  std::erase(streams_, stream);
}

cudaError_t StreamOrderedPool::allocate(void** memory, std::int64_t bytes) {
  const std::scoped_lock lock(mutex_);
  const cudaError_t status = cudaMallocFromPoolAsync(memory, static_cast<std::size_t>(bytes), pool_, order_.get());
  if (status != cudaSuccess) {
    cudaGetLastError();  // the caller gets it; the next launch is not to report it
    return status;
  }
  for (const cudaStream_t s : streams_) order_behind(s);
  return cudaSuccess;
}

void StreamOrderedPool::deallocate(void* memory) noexcept {
  const std::scoped_lock lock(mutex_);
  cudaError_t status = cudaSuccess;
  const auto attempt = [&status](cudaError_t result) { status = status == cudaSuccess ? result : status; };
  for (const cudaStream_t s : streams_) {
    attempt(cudaEventRecord(point_.get(), s));
    attempt(cudaStreamWaitEvent(order_.get(), point_.get()));
  }
  attempt(cudaFreeAsync(memory, order_.get()));
  if (status == cudaSuccess) return;
  cudaGetLastError();
  log::warning("[device] CUDA: freeing memory: {}", cudaGetErrorString(status));
}

/// What `stream` is given from now on comes after what was allocated and freed until now.
void StreamOrderedPool::order_behind(cudaStream_t stream) {
  check(cudaEventRecord(point_.get(), order_.get()), "recording an allocation");
  check(cudaStreamWaitEvent(stream, point_.get()), "ordering an allocation");
}

}  // namespace octet::cuda
