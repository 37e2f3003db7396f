#pragma once

#include <cstdint>
#include <string>

#include "src/device/buffer.h"

namespace octet {

/// Stack-like memory: allocations are taken in order and given back together by rewinding to a mark.
/// A measuring arena has no memory and only counts, so that the code that allocates also plans (`Arena::measure`).
/// Not thread-safe.
class Arena {
 public:
  static constexpr std::int64_t alignment = 256;

  Arena(Device& device, std::int64_t bytes, Purpose purpose, std::string name);
  static Arena measure(std::string name) { return Arena(std::move(name)); }

  /// Aligned to 256 bytes. Null from a measuring arena. Throws Error naming arena, bytes asked, in use and capacity.
  void* allocate(std::int64_t bytes);
  template <typename T>
  T* allocate(std::int64_t count) {
    return static_cast<T*>(allocate(count * static_cast<std::int64_t>(sizeof(T))));
  }

  std::int64_t mark() const { return used_; }
  /// Everything allocated since `mark` is free again.
  void rewind(std::int64_t mark) { used_ = mark; }

  std::int64_t capacity() const { return buffer_.bytes(); }
  std::int64_t high_water() const { return high_water_; }
  bool measuring() const { return measuring_; }

 private:
  explicit Arena(std::string name) : name_(std::move(name)), measuring_(true) {}

  Buffer buffer_;
  std::string name_;
  bool measuring_ = false;
  std::int64_t used_ = 0;
  std::int64_t high_water_ = 0;
};

/// Rewinds an arena at the end of a scope.
class ArenaScope {
 public:
  explicit ArenaScope(Arena& arena) : arena_(arena), mark_(arena.mark()) {}
  ~ArenaScope() { arena_.rewind(mark_); }
  ArenaScope(const ArenaScope&) = delete;
  ArenaScope& operator=(const ArenaScope&) = delete;

 private:
  Arena& arena_;
  std::int64_t mark_;
};

}  // namespace octet
