#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "tests/emulated/thread_block.h"

/// Blocks that run at once and reach each other's shared memory. Each has a thread of the operating system, so that its
/// shared memory, which is thread-local, is its own.
namespace octet::emulated {

struct WatchedBlock;

class Cluster {
 public:
  explicit Cluster(unsigned blocks)
      : bases_(blocks), ended_(blocks, false), members_(blocks), watched_(blocks, nullptr) {}

  /// Block `rank` is on this thread.
  void enter(unsigned rank);
  /// What the checks of accesses know of it.
  void watch(unsigned rank, WatchedBlock* block) { __atomic_store_n(&watched_[rank], block, __ATOMIC_RELEASE); }
  WatchedBlock* const* watched() const { return watched_.data(); }
  /// Block `rank` runs no longer. A block that failed ends the waiting of the others.
  void leave(unsigned rank, bool failed);
  /// All blocks that have not ended.
  void barrier();
  const void* in_block(const void* shared, unsigned rank);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<char*> bases_;  ///< of each thread's thread-local memory
  std::vector<bool> ended_;
  unsigned members_, arrived_ = 0;
  std::uint64_t generation_ = 0;
  bool failed_ = false;
  std::vector<WatchedBlock*> watched_;
};

struct ClusterPlace {
  Cluster* cluster;
  unsigned rank;
};

void run_block(const Grid& grid, unsigned number, const std::function<void()>& kernel, ClusterPlace* place,
               std::uint64_t seed);
void run_cluster(const Grid& grid, unsigned number, const std::function<void()>& kernel, std::uint64_t seed);

}  // namespace octet::emulated
