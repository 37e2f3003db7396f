#pragma once

#include <utility>
#include <vector>

#include "src/device/buffer.h"

namespace octet {

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
