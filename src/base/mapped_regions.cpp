#include "src/base/mapped_regions.h"

#include <unistd.h>

#include <algorithm>
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

/// The table grows by blocks, which stay where they are, since the handler may be looking at them.
struct Block {
  std::array<Entry, 1024> entries;
  std::atomic<Block*> next = nullptr;
};

Block table;
std::mutex changes;
std::size_t lowest_free = 0;  ///< no entry before it is free
std::atomic<const Entry*> found = nullptr;
struct sigaction before {};

const Entry* entry_of(std::uintptr_t address) {
  for (const Block* block = &table; block != nullptr; block = block->next.load(std::memory_order_acquire)) {
    for (const Entry& entry : block->entries) {
      const std::uintptr_t begin = entry.begin.load(std::memory_order_acquire);
      if (begin != 0 && begin <= address && address < entry.end) return &entry;
    }
  }
  return nullptr;
}

/// The entry of that number, in a block that is made where there is none yet.
Entry& entry_at(std::size_t number) {
  Block* block = &table;
  for (; number >= block->entries.size(); number -= block->entries.size()) {
    if (block->next.load(std::memory_order_relaxed) == nullptr) {
      block->next.store(new Block, std::memory_order_release);  // never given back
    }
    block = block->next.load(std::memory_order_relaxed);
  }
  return block->entries[number];
}

/// Calls nothing but what a signal handler may call. Another thread tells the reason and ends the process; this thread
/// waits for that, since it may have been interrupted anywhere and would only repeat the failing read.
void on_fault(int signal, siginfo_t* info, void* /*context*/) {
  const bool sent = info->si_code <= 0;  // by kill(): it has no address
  const Entry* const entry = sent ? nullptr : entry_of(reinterpret_cast<std::uintptr_t>(info->si_addr));
  if (entry == nullptr) {
    sigaction(SIGBUS, &before, nullptr);  // the read is repeated, and its fault goes to the former handler
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
  while (entry_at(lowest_free).begin.load(std::memory_order_relaxed) != 0) ++lowest_free;
  Entry& entry = entry_at(lowest_free);
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  entry.end = address + bytes;
  entry.path = path;
  entry.begin.store(address, std::memory_order_release);
  return static_cast<int>(lowest_free++);
}

void remove(int entry) noexcept {
  if (entry < 0) return;
  const std::lock_guard lock(changes);
  entry_at(static_cast<std::size_t>(entry)).begin.store(0, std::memory_order_release);
  lowest_free = std::min(lowest_free, static_cast<std::size_t>(entry));
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
