#pragma once

#include <cstdint>

#include "src/device/memory_ledger.h"

namespace octet {

/// Where a Buffer's memory comes from: a device, or a group of ranks that wants to know the memory it sends from.
class MemorySource {
 public:
  virtual ~MemorySource() = default;
  /// The memory is not initialised. Throws Error naming bytes asked and free.
  virtual void* allocate(std::int64_t bytes) = 0;
  virtual void deallocate(void* memory, std::int64_t bytes) noexcept = 0;
  virtual MemoryLedger& ledger() = 0;
  /// False where a call waits for the device or for other ranks: its users keep what they have got.
  virtual bool cheap() const { return true; }
};

}  // namespace octet
