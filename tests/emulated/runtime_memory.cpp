// CUDA's run time for the emulated device: memory. It is the host's, full of NaN where nothing was written yet, and
// again when it is freed.
#include <cstring>
#include <map>

#include "tests/emulated/checks/device_places.h"
#include "tests/emulated/checks/stream_races.h"
#include "tests/emulated/runtime.h"
#include "tests/emulated/thread_block.h"

namespace octet::emulated {
namespace {

struct Memory {
  std::map<const void*, std::size_t> device, host;  // what is allocated, by its first byte
  std::size_t used = 0;
};
Memory& memory() {
  static auto* all = new Memory;
  return *all;
}
/// Whether all of the bytes are of one allocation.
bool is_of(const std::map<const void*, std::size_t>& allocations, const void* p, std::size_t bytes) {
  auto after = allocations.upper_bound(p);
  if (after == allocations.begin()) return false;
  --after;
  return static_cast<const char*>(p) + bytes <= static_cast<const char*>(after->first) + after->second;
}

cudaError_t take(void** out, std::size_t bytes, std::map<const void*, std::size_t>& into) {
  if (&into == &memory().device && memory().used + bytes > total_memory) return cudaErrorMemoryAllocation;
  *out = Places::get().take(bytes);
  if (*out == nullptr) return cudaErrorMemoryAllocation;
  forget_bytes(*out, bytes);
  std::memset(*out, 0xFF, bytes);  // nobody may count on zeros
  into[*out] = bytes;
  if (&into == &memory().device) memory().used += bytes;
  return cudaSuccess;
}
cudaError_t give_back(void* p, std::map<const void*, std::size_t>& from) {
  if (p == nullptr) return cudaSuccess;
  const auto found = from.find(p);
  if (found == from.end()) return cudaErrorInvalidValue;
  if (&from == &memory().device) memory().used -= found->second;
  forget_bytes(p, found->second);
  std::memset(p, 0xFF, found->second);
  from.erase(found);
  Places::get().give_back(p);
  return cudaSuccess;
}

cudaError_t copy(Device& device, Lock& lock, void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                 cudaStream_t stream) {
  const auto on_device = [&](const void* p) { return is_of(memory().device, p, bytes); };
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  if (on_device(to) != to_device || on_device(from) != from_device) return cudaErrorInvalidValue;
  const auto pageable = [&](const void* p) { return !is_of(memory().host, p, bytes); };
  if (kind == cudaMemcpyHostToDevice && pageable(from)) {
    // It is staged before the call returns, so that the caller may change it.
    std::vector<char> staged(static_cast<const char*>(from), static_cast<const char*>(from) + bytes);
    device.give(stream, "cudaMemcpyAsync", [to, staged = std::move(staged)] {
      piece_writes(to, staged.size());
      std::memcpy(to, staged.data(), staged.size());
    });
    return cudaSuccess;
  }
  device.give(stream, "cudaMemcpyAsync", [to, from, bytes] {
    piece_reads(from, bytes);
    piece_writes(to, bytes);
    std::memmove(to, from, bytes);
  });
  if (kind == cudaMemcpyDeviceToHost && pageable(to)) return finish(device, lock, stream);
  return cudaSuccess;
}

}  // namespace
}  // namespace octet::emulated

using namespace octet::emulated;

extern "C" {

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  return call([&](Device&, Lock&) {
    *total = total_memory;
    *free = total_memory - memory().used;
    return cudaSuccess;
  });
}
cudaError_t cudaMalloc(void** out, std::size_t bytes) {
  return call([&](Device& device, Lock&) {
    if (device.spoils_capture()) return cudaErrorStreamCaptureUnsupported;
    return take(out, bytes, memory().device);
  });
}
cudaError_t cudaFree(void* p) {
  return call([&](Device& device, Lock& lock) {
    if (device.spoils_capture()) return cudaErrorStreamCaptureUnsupported;
    device.run_all(lock);
    return give_back(p, memory().device);
  });
}
cudaError_t cudaMallocFromPoolAsync(void** out, std::size_t bytes, cudaMemPool_t, cudaStream_t stream) {
  return call([&](Device& device, Lock&) {
    const cudaError_t status = take(out, bytes, memory().device);
    if (status != cudaSuccess) return status;
    device.give(stream, "cudaMallocFromPoolAsync", [p = *out, bytes] { piece_writes(p, bytes); });
    return cudaSuccess;
  });
}
cudaError_t cudaFreeAsync(void* p, cudaStream_t stream) {
  return call([&](Device& device, Lock&) {
    device.give(stream, "cudaFreeAsync", [&device, p] {
      const Lock lock(device.mutex);
      const auto allocation = memory().device.find(p);
      if (allocation != memory().device.end()) piece_writes(p, allocation->second);
      if (give_back(p, memory().device) != cudaSuccess) fault("memory is freed that is not there, or a second time");
    });
    return cudaSuccess;
  });
}
cudaError_t cudaMallocHost(void** out, std::size_t bytes) {
  return call([&](Device& device, Lock&) {
    if (device.spoils_capture()) return cudaErrorStreamCaptureUnsupported;
    return take(out, bytes, memory().host);
  });
}
cudaError_t cudaFreeHost(void* p) {
  return call([&](Device& device, Lock& lock) {
    if (device.spoils_capture()) return cudaErrorStreamCaptureUnsupported;
    device.run_all(lock);
    return give_back(p, memory().host);
  });
}
cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream) {
  return call([&](Device& device, Lock&) {
    if (!is_of(memory().device, to, bytes)) return cudaErrorInvalidValue;
    device.give(stream, "cudaMemsetAsync", [=] {
      piece_writes(to, bytes);
      std::memset(to, value, bytes);
    });
    return cudaSuccess;
  });
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  return call([&](Device& device, Lock& lock) { return copy(device, lock, to, from, bytes, kind, stream); });
}
}
