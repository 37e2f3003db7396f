#pragma once

#include "tests/emulated/thread_block.h"

/// Copies into shared memory are done at once, so that what others still read is gone, or when their thread waits for
/// them, so that who reads before has what was there.
inline void __pipeline_memcpy_async(void* to, const void* from, std::size_t bytes) {
  if ((bytes != 4 && bytes != 8 && bytes != 16) || reinterpret_cast<std::uintptr_t>(to) % bytes != 0 ||
      reinterpret_cast<std::uintptr_t>(from) % bytes != 0) {
    octet::emulated::fault("a copy into shared memory of a size, or at an address, that it does not take");
  }
  auto& thread = octet::emulated::here();
  if (thread.copies_at_once) {
    std::memcpy(to, from, bytes);
  } else {
    thread.copies.push_back({to, from, bytes});
  }
}
inline void __pipeline_commit() {
  auto& thread = octet::emulated::here();
  thread.groups.push_back(std::move(thread.copies));
  thread.copies.clear();
}
inline void __pipeline_wait_prior(std::size_t newest) {
  auto& groups = octet::emulated::here().groups;
  while (groups.size() > newest) {
    for (const auto& c : groups.front()) std::memcpy(c.to, c.from, c.bytes);
    groups.erase(groups.begin());
  }
}
