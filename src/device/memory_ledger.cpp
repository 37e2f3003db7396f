#include "src/device/memory_ledger.h"

#include <algorithm>

namespace octet {

void MemoryLedger::add(Purpose purpose, std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  for (Usage* u : {&by_purpose_[static_cast<int>(purpose)], &total_}) {
    u->now += bytes;
    u->peak = std::max(u->peak, u->now);
  }
}

void MemoryLedger::remove(Purpose purpose, std::int64_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  by_purpose_[static_cast<int>(purpose)].now -= bytes;
  total_.now -= bytes;
}

MemoryLedger::Usage MemoryLedger::usage(Purpose purpose) const {
  const std::lock_guard lock(mutex_);
  return by_purpose_[static_cast<int>(purpose)];
}

MemoryLedger::Usage MemoryLedger::total() const {
  const std::lock_guard lock(mutex_);
  return total_;
}

void MemoryLedger::reset_peaks() {
  const std::lock_guard lock(mutex_);
  for (Usage& u : by_purpose_) u.peak = u.now;
  total_.peak = total_.now;
}

}  // namespace octet
