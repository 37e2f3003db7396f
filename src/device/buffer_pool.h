#pragma once

#include <cstddef>
#include <vector>

#include "src/device/buffer.h"

namespace octet {

/// Buffers of a few recurring sizes, handed out and taken back without returning to the allocator each time.
/// Keeps at most `max_idle` unused ones, the most recently returned.
class BufferPool {
 public:
  BufferPool(Device& device, Purpose purpose, std::size_t max_idle)
      : device_(device), purpose_(purpose), max_idle_(max_idle) {}

  Buffer acquire(std::int64_t bytes);
  void give_back(Buffer buffer);
  void clear() { idle_.clear(); }

 private:
  Device& device_;
  Purpose purpose_;
  std::size_t max_idle_;
  std::vector<Buffer> idle_;  ///< oldest first
};

}  // namespace octet
