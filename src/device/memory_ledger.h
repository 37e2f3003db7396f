#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <string_view>

#include "src/base/named_enum.h"

namespace octet {

/// What a buffer is for; the rows of the memory plan.
enum class Purpose : int {
  parameters,   ///< fp32 master shards
  gradients,    ///< fp32 gradient shards and the unit gradients on their way to them
  optimizer,    ///< Adam moments
  gathered,     ///< gathered weights of the units in use
  activations,  ///< kept from forward to backward
  workspace,    ///< scratch of kernels and of one op
  communication,
  data,
  count
};
constexpr auto names_of(Purpose) {
  return std::to_array<std::string_view>({"parameters", "gradients", "optimizer", "gathered weights", "activations",
                                          "workspace", "communication", "data"});
}

/// Bytes held now and at the peak, by purpose. Thread-safe. One ledger per device; every Buffer reports to it.
class MemoryLedger {
 public:
  struct Usage {
    std::int64_t now = 0;
    std::int64_t peak = 0;
  };

  void add(Purpose purpose, std::int64_t bytes);
  void remove(Purpose purpose, std::int64_t bytes) noexcept;
  Usage usage(Purpose purpose) const;
  /// Sum over purposes; its peak is the peak of the sum.
  Usage total() const;
  /// Forget peaks: they become what is held now.
  void reset_peaks();

 private:
  mutable std::mutex mutex_;
  std::array<Usage, static_cast<int>(Purpose::count)> by_purpose_{};
  Usage total_;
};

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
