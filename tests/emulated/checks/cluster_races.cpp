// Blocks of a cluster in each other's shared memory: only barriers of the cluster are between what they do. Who reads
// it is remembered beside, so that a block's own accesses stay its own thread's of the operating system.
#include <fmt/format.h>

#include "tests/emulated/checks/accesses.h"
#include "tests/emulated/checks/races.h"

namespace octet::emulated {
namespace {

/// A reading of the owner's memory, behind which barrier of the cluster.
std::uint64_t reading(const WatchedBlock& owner, std::uint32_t epoch) {
  return std::uint64_t{owner.run} << 32 | epoch;
}

}  // namespace

void touch_neighbour(std::uintptr_t at, std::size_t size, const WatchedBlock& block, const WatchedBlock& other,
                     const void* from) {
  const std::uint32_t last_barrier = other.cluster_stamps[block.cluster_epoch % 2];
  for (std::size_t done = 0; done < size; done += Shadow::word) {
    const Shadow* word = shadow_of_shared(at + done, other);
    __atomic_store_n(other.read_by_others + (word - other.shared), reading(other, block.cluster_epoch),
                     __ATOMIC_SEQ_CST);
    const Touched wrote = load(word->write);
    if (wrote.run == other.run && (is_pending(wrote) || wrote.stamp >= last_barrier)) {
      refuse(fmt::format("a race: reads {} of block {}, which its thread {} writes, with no barrier of the cluster "
                         "between them",
                         place(at, size, other), other.run - other.first_run, static_cast<unsigned>(wrote.thread)),
             from);
    }
  }
}

void check_neighbours(std::uintptr_t at, std::size_t size, const WatchedBlock& block, const void* from) {
  for (std::size_t done = 0; done < size; done += Shadow::word) {
    const std::ptrdiff_t word = shadow_of_shared(at + done, block) - block.shared;
    if (__atomic_load_n(block.read_by_others + word, __ATOMIC_SEQ_CST) == reading(block, block.cluster_epoch)) {
      refuse(fmt::format("a race: writes {}, which another block reads, with no barrier of the cluster between them",
                         place(at, size, block)),
             from);
    }
  }
}

}  // namespace octet::emulated
