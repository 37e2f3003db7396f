#include "src/base/mapped_regions.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <mutex>

namespace octet::mapped_regions {
namespace {

struct Entry {
  std::atomic<std::uintptr_t> begin = 0;  ///< 0: free. Set last and cleared first, since the handler takes no lock
  std::uintptr_t end = 0;
  std::string path;
};

constexpr std::size_t most = 4096;
std::array<Entry, most> table;
std::mutex changes;
std::atomic<const Entry*> found = nullptr;
struct sigaction before {};

const Entry* entry_of(std::uintptr_t address) {
  for (const Entry& entry : table) {
    const std::uintptr_t begin = entry.begin.load(std::memory_order_acquire);
    if (begin != 0 && begin <= address && address < entry.end) return &entry;
  }
  return nullptr;
}

/// Calls nothing but what a handler may call. Another thread tells the reason and ends the process: this one may be
/// anywhere, and the read that it came from would fail again.
void on_fault(int signal, siginfo_t* info, void* /*context*/) {
  const bool sent = info->si_code <= 0;  // by kill(): it has no address
  const Entry* const entry = sent ? nullptr : entry_of(reinterpret_cast<std::uintptr_t>(info->si_addr));
  if (entry == nullptr) {
    sigaction(SIGBUS, &before, nullptr);  // a read fails again, and finds what was there before
    if (sent) raise(signal);
    return;
  }
  const Entry* none = nullptr;
  found.compare_exchange_strong(none, entry);
  for (;;) pause();
}

}  // namespace

int add(const void* begin, std::size_t bytes, const std::string& path) {
  const std::lock_guard lock(changes);
  for (std::size_t i = 0; i < most; ++i) {
    Entry& entry = table[i];
    if (entry.begin.load(std::memory_order_relaxed) != 0) continue;
    const auto address = reinterpret_cast<std::uintptr_t>(begin);
    entry.end = address + bytes;
    entry.path = path;
    entry.begin.store(address, std::memory_order_release);
    return static_cast<int>(i);
  }
  return -1;
}

void remove(int entry) noexcept {
  if (entry >= 0) table[static_cast<std::size_t>(entry)].begin.store(0, std::memory_order_release);
}

Guard::Guard() {
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGBUS, &action, &before);
}

Guard::~Guard() {
  sigaction(SIGBUS, &before, nullptr);
}

const char* unreadable() {
  const Entry* const entry = found;
  return entry == nullptr ? nullptr : entry->path.c_str();
}

}  // namespace octet::mapped_regions
