#pragma once

#include <cstdint>
#include <utility>
#include <vector>

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

/// Buffers of a few recurring sizes, handed out and taken back without returning to the allocator each time. Unused
/// buffers are freed before a new size is allocated, so the pool never holds more than its users did at their peak;
/// but where the source is not cheap they are kept, and of each size there are as many as were in use at once.
class BufferPool {
 public:
  BufferPool(MemorySource& source, Purpose purpose) : source_(source), purpose_(purpose) {}

  Buffer acquire(std::int64_t bytes);
  void give_back(Buffer buffer) { idle_.push_back(std::move(buffer)); }

 private:
  MemorySource& source_;
  Purpose purpose_;
  std::vector<Buffer> idle_;
};

}  // namespace octet
