#pragma once

#include <string>

#include "tests/emulated/checks/accesses.h"

namespace octet::emulated {

/// Looks whether another thread reaches these bytes with nothing between it and `me`, of which one writes, and
/// remembers the access. `word`: of the first byte.
void touch_shared(Shadow* word, std::uintptr_t at, std::size_t size, Access access, const Watched& me,
                  const void* from);
void touch_device(std::uintptr_t at, std::size_t size, Access access, const Watched& me, const void* from);
/// The same of reads of another block of the cluster, which remembers them beside, and of its own writes.
void touch_neighbour(std::uintptr_t at, std::size_t size, const WatchedBlock& block, const WatchedBlock& other,
                     const void* from);
void check_neighbours(std::uintptr_t at, std::size_t size, const WatchedBlock& block, const void* from);
/// A copy of whole words that is no longer under way.
void settle_shared(Shadow* word, std::size_t size, const Watched& me);

const char* verb(Access access);
/// That of shared memory; null elsewhere.
Shadow* shadow_of_shared(std::uintptr_t at, const WatchedBlock& block);
/// What and where it is, for messages: "4 bytes, 12 behind an allocation of 64 bytes".
std::string place(std::uintptr_t at, std::size_t size, const WatchedBlock& block);

}  // namespace octet::emulated
