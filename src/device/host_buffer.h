#pragma once

#include <cstdint>
#include <memory>

#include "src/device/device.h"

namespace octet {

/// Owns host memory from Device::allocate_host. Movable, not copyable. Contents are not initialised.
class HostBuffer {
 public:
  HostBuffer() = default;
  HostBuffer(Device& device, std::int64_t bytes)
      : data_(bytes > 0 ? device.allocate_host(bytes) : nullptr, {&device}), bytes_(bytes) {}

  void* data() const { return data_.get(); }
  template <typename T>
  T* as() const {
    return static_cast<T*>(data());
  }
  std::int64_t bytes() const { return bytes_; }

 private:
  struct Free {
    Device* device;
    void operator()(void* memory) const noexcept { device->deallocate_host(memory); }
  };

  std::unique_ptr<void, Free> data_;
  std::int64_t bytes_ = 0;
};

}  // namespace octet
