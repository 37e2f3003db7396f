#pragma once

#include <cstdint>
#include <utility>

#include "src/device/device.h"

namespace octet {

/// Owns host memory from Device::allocate_host. Movable, not copyable. Contents are not initialised.
class HostBuffer {
 public:
  HostBuffer() = default;
  HostBuffer(Device& device, std::int64_t bytes)
      : device_(&device), data_(bytes > 0 ? device.allocate_host(bytes) : nullptr), bytes_(bytes) {}
  ~HostBuffer() {
    if (data_ != nullptr) device_->deallocate_host(data_);
  }
  HostBuffer(HostBuffer&& other) noexcept { swap(other); }
  HostBuffer& operator=(HostBuffer&& other) noexcept {
    HostBuffer moved(std::move(other));
    swap(moved);
    return *this;
  }
  HostBuffer(const HostBuffer&) = delete;
  HostBuffer& operator=(const HostBuffer&) = delete;

  void* data() const { return data_; }
  template <typename T>
  T* as() const {
    return static_cast<T*>(data_);
  }
  std::int64_t bytes() const { return bytes_; }

 private:
  void swap(HostBuffer& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
  }

  Device* device_ = nullptr;
  void* data_ = nullptr;
  std::int64_t bytes_ = 0;
};

}  // namespace octet
