#pragma once

#include <utility>
#include <vector>

#include "src/device/buffer.h"

namespace octet {

/// Buffers of a few recurring sizes, handed out and taken back without returning to the allocator each time. Unused
/// buffers are freed before a new size is allocated, so the pool never holds more than its users did at their peak.
class BufferPool {
 public:
  BufferPool(Device& device, Purpose purpose) : device_(device), purpose_(purpose) {}

  Buffer acquire(std::int64_t bytes);
  void give_back(Buffer buffer) { idle_.push_back(std::move(buffer)); }

 private:
  Device& device_;
  Purpose purpose_;
  std::vector<Buffer> idle_;
};

}  // namespace octet
