// What an address is of, and whether a kernel's thread may reach it.
#include "tests/emulated/checks/accesses.h"

#include <fmt/format.h>

#include "tests/emulated/checks/device_places.h"
#include "tests/emulated/checks/races.h"
#include "tests/emulated/checks/touched_bytes.h"
#include "tests/emulated/thread_block.h"

extern "C" const char __executable_start, _end;  // of the program, from the linker

namespace octet::emulated {
namespace {

bool is_within(std::uintptr_t at, std::size_t size, std::uintptr_t begin, std::size_t bytes) {
  return at - begin < bytes && at + size <= begin + bytes;
}

/// Another block of the cluster, in whose shared memory it is.
const WatchedBlock* neighbour(std::uintptr_t at, const WatchedBlock& block) {
  for (unsigned rank = 0; block.of_cluster != nullptr && rank < block.in_cluster; ++rank) {
    const WatchedBlock* other = __atomic_load_n(block.of_cluster + rank, __ATOMIC_ACQUIRE);
    if (other != nullptr && other != &block && shadow_of_shared(at, *other) != nullptr) return other;
  }
  return nullptr;
}

/// Memory that is neither of the device nor the block's own.
void check_elsewhere(std::uintptr_t at, std::size_t size, Access access, const Watched& me, const void* from) {
  const bool reads = access == Access::read || access == Access::atomic_read;
  if (reads && is_within(at, size, me.arguments, me.argument_bytes)) return;
  const auto program = reinterpret_cast<std::uintptr_t>(&__executable_start);
  if (reads && at - program < reinterpret_cast<std::uintptr_t>(&_end) - program) return;  // constants
  if (const WatchedBlock* other = neighbour(at, *me.block)) {
    const bool there = is_within(at, size, other->dynamic, other->dynamic_bytes) ||
                       is_within(at, size, other->variables, other->variable_bytes);
    if (reads && there) return touch_neighbour(at, size, *me.block, *other, from);
    refuse(fmt::format("{} {} of another block of the cluster", verb(access), place(at, size, *other)), from);
  }
  refuse(fmt::format("{} {}", verb(access), place(at, size, *me.block)), from);
}

}  // namespace

const char* verb(Access access) {
  const bool reads = access == Access::read || access == Access::atomic_read;
  return reads ? "reads" : access == Access::copy ? "copies to" : "writes";
}

Shadow* shadow_of_shared(std::uintptr_t at, const WatchedBlock& block) {
  if (at - block.dynamic < most_dynamic_shared) return block.shared + (at - block.dynamic) / Shadow::word;
  if (at - block.variables < block.variable_bytes)
    return block.shared + (most_dynamic_shared + at - block.variables) / Shadow::word;
  return nullptr;
}

std::string place(std::uintptr_t at, std::size_t size, const WatchedBlock& block) {
  std::string text = fmt::format("{} byte{}, ", size, size == 1 ? "" : "s");
  if (const std::uintptr_t offset = at - block.dynamic; offset < most_dynamic_shared) {
    if (offset + size > block.dynamic_bytes && offset >= block.dynamic_bytes)
      return text + fmt::format("{} behind the block's {} of dynamic shared memory", offset - block.dynamic_bytes,
                                block.dynamic_bytes);
    return text + fmt::format("{} into the block's {} of dynamic shared memory", offset, block.dynamic_bytes);
  }
  if (at - block.variables < block.variable_bytes) return text + "of a variable in shared memory";
  if (Places::holds(at)) return text + Places::get().where(at, size);
  return text + fmt::format("{:#x}, where the device has no memory", at);
}

void check_access(std::uintptr_t at, std::size_t size, Access access, Watched& me, const void* from) {
  WatchedBlock& block = *me.block;
  if (Places::holds(at)) {
    if (!Places::are_taken(at, size) || access == Access::copy)
      refuse(fmt::format("{} {}", verb(access), place(at, size, block)), from);
    if (access != Access::write) TouchedBytes::add(at, size, false);
    if (access == Access::write || access == Access::atomic) TouchedBytes::add(at, size, true);
    return touch_device(at, size, access, me, from);
  }
  Shadow* const word = shadow_of_shared(at, block);
  if (word == nullptr) return check_elsewhere(at, size, access, me, from);
  if (at - block.dynamic < most_dynamic_shared && at - block.dynamic + size > block.dynamic_bytes)
    refuse(fmt::format("{} {}", verb(access), place(at, size, block)), from);
  if (at - block.variables < block.variable_bytes && !is_within(at, size, block.variables, block.variable_bytes))
    refuse(fmt::format("{} {}", verb(access), place(at, size, block)), from);
  touch_shared(word, at, size, access, me, from);
  if (block.read_by_others == nullptr || access == Access::read || access == Access::atomic_read) return;
  __atomic_thread_fence(__ATOMIC_SEQ_CST);  // a neighbour remembers that it reads, and then looks who has written
  check_neighbours(at, size, block, from);
}

void settle_copy(std::uintptr_t to, std::size_t size, Watched& me) {
  settle_shared(shadow_of_shared(to, *me.block), size, me);
}

}  // namespace octet::emulated
