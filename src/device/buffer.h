#pragma once

#include <cstdint>
#include <utility>

#include "src/device/device.h"

namespace octet {

/// Owns device memory and reports it to its source's ledger. Movable, not copyable; what is assigned to is freed at
/// once. Contents are not initialised.
class Buffer {
 public:
  Buffer() = default;
  Buffer(MemorySource& source, std::int64_t bytes, Purpose purpose);
  ~Buffer() { release(); }
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    Buffer moved(std::move(other));
    swap(moved);
    return *this;
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  void* data() const { return data_; }
  template <typename T>
  T* as() const {
    return static_cast<T*>(data_);
  }
  std::int64_t bytes() const { return bytes_; }
  bool empty() const { return data_ == nullptr; }

 private:
  void release() noexcept;
  void swap(Buffer& other) noexcept;

  MemorySource* source_ = nullptr;
  void* data_ = nullptr;
  std::int64_t bytes_ = 0;
  Purpose purpose_ = Purpose::workspace;
};

}  // namespace octet
