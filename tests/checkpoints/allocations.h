#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace octet::checkpoint::test {

// What large_manifest_test.cpp has in place of the library's operator new, for all of this program.

/// How often this thread has asked for memory.
inline thread_local std::int64_t allocations = 0;

/// While it lives this thread gets no memory for anything larger.
class AllocationLimit {
 public:
  explicit AllocationLimit(std::size_t bytes) { largest() = bytes; }
  ~AllocationLimit() { largest() = std::numeric_limits<std::size_t>::max(); }
  AllocationLimit(const AllocationLimit&) = delete;
  AllocationLimit& operator=(const AllocationLimit&) = delete;

  static std::size_t& largest() {
    static thread_local std::size_t bytes = std::numeric_limits<std::size_t>::max();
    return bytes;
  }
};

}  // namespace octet::checkpoint::test
