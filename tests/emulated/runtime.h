#pragma once

#include "tests/emulated/streams.h"

/// What the parts of CUDA's run time share: runtime.cpp, runtime_memory.cpp and runtime_streams.cpp.
namespace octet::emulated {

/// Bytes of the device; its memory is that of one process, which is all that it has.
inline const std::size_t total_memory = setting("OCTET_EMULATED_MIB", 16 << 10) << 20;
/// Devices that a process sees, of which it uses one.
inline const int visible_devices = static_cast<int>(setting("OCTET_EMULATED_DEVICES", 1));

/// A call, f(device, lock): one at a time, not on a device that is broken; the error is remembered.
template <typename F>
cudaError_t call(F&& f) {
  Device& device = Device::get();
  Lock lock(device.mutex);
  device.called = std::chrono::steady_clock::now();
  const cudaError_t status = device.broken != cudaSuccess ? device.broken : f(device, lock);
  device.called = std::chrono::steady_clock::now();
  const cudaError_t now = device.broken != cudaSuccess ? device.broken : status;
  if (now != cudaSuccess && now != cudaErrorNotReady) device.last_error = now;
  return now;
}

/// The host waits for all that `stream` has been given.
cudaError_t finish(Device& device, Lock& lock, cudaStream_t stream);

}  // namespace octet::emulated
