#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/emulated/checks/shadow.h"
#include "tests/emulated/thread_block.h"

/// What the checks of accesses know of the thread of a kernel that runs, and of its block. Its time is counted in
/// stamps: a thread has a new one when it has met others, and behind a fence or a count, so that what it did before can
/// be told from what it does next. What has an older stamp than the block's last barrier was before all that comes
/// after.
namespace octet::emulated {

struct SyncPoint;
/// What a thread that counted itself at an address of device memory knows of blocks that did so before.
struct Acquired {
  const SyncPoint* point;
  std::size_t releases;  ///< as many of the first ones as were there
  unsigned thread, stamp;
};

struct WatchedBlock {
  static constexpr std::uint32_t last_stamp = (1u << 15) - 1;

  std::uint32_t run = 0, first_run = 0;           ///< numbers of this block and of its launch's first one
  std::uint32_t cluster_run = 0, in_cluster = 1;  ///< of the first block of its cluster; blocks of that
  std::uint32_t counter = 1, epoch = 1;           ///< of stamps; that of the last barrier
  bool too_long = false;                          ///< more stamps than can be told apart: no races are looked for

  std::uintptr_t dynamic = 0, variables = 0;  ///< its shared memory
  std::size_t dynamic_bytes = 0, variable_bytes = 0;
  Shadow* shared = nullptr;  ///< of the dynamic part as large as it may be, and of the variables behind it

  std::vector<Acquired> acquired;

  WatchedBlock* const* of_cluster = nullptr;  ///< by rank; null where a block does not run
  /// Of each word of shared memory, behind which barrier of the cluster another block of it read it last, with this
  /// block's run; null where there is no cluster.
  std::uint64_t *read_by_others = nullptr, *others_reading = nullptr;
  std::uint32_t cluster_epoch = 0;  ///< barriers of the cluster
  std::uint32_t cluster_stamps[2];  ///< of the last two, the even and the odd one

  /// What is remembered of bytes of the block's own shared memory; null where not all of them are.
  Shadow* shadow(std::uintptr_t at, std::size_t size) const {
    if (at - dynamic < dynamic_bytes && at + size <= dynamic + dynamic_bytes) return shared + (at - dynamic) / 4;
    const bool is_variable = at - variables < variable_bytes && at + size <= variables + variable_bytes;
    return is_variable ? shadow_of_variables() + (at - variables) / 4 : nullptr;
  }

  void begin(const Grid& grid, unsigned number);
  /// All threads have reached a barrier.
  void barrier();
  std::uint32_t next_stamp();
  /// All threads have reached a barrier of the cluster; then all of the cluster have.
  void before_cluster_barrier();
  void cluster_barrier();

 private:
  Shadow* shadow_of_variables() const { return shared + most_dynamic_shared / Shadow::word; }
};

/// What each lane of a warp knows of each other: up to which stamp its accesses were before.
struct SeenByWarp {
  std::uint32_t run = 0;    ///< of which block; none other is seen
  std::uint32_t whole = 0;  ///< what has an older stamp was, in all lanes, before what any does now
  std::uint16_t stamps[32][32];
};

struct Watched {
  WatchedBlock* block = nullptr;
  SeenByWarp* warp = nullptr;
  std::uintptr_t stack_top = 0;
  std::uintptr_t arguments = 0;
  std::size_t argument_bytes = 0;
  unsigned number = 0;  ///< in its block
  std::uint32_t stamp = 1;
  std::uint64_t now = 0;                     ///< as Touched, where it reaches a whole word
  std::uint32_t fence = 0, fence_epoch = 0;  ///< __threadfence: its stamp, and the block's epoch then
  std::vector<Acquired> unfenced;            ///< read by an atomic that orders nothing, before a fence

  void begin(WatchedBlock* of, SeenByWarp* seen_by_warp, unsigned thread);
  void be_at(std::uint32_t new_stamp);
  /// Up to which stamp all that the warp's `lane` did was before what this one does now.
  unsigned seen(unsigned lane) const;
  /// The stamp that its lanes had when all of them met last.
  unsigned warp_met() const { return warp->run == block->run ? warp->whole : 0; }
};

/// Whether kernels are compiled with calls of the checks, which say so as the program begins.
extern bool accesses_are_checked;

/// Who runs a kernel's own code now, on this thread of the operating system; null: the code is another.
extern constinit thread_local Watched* watched;

/// While it lives, what runs is the emulation's. Functions that kernels call begin with it; where they end with an
/// exception, the kernel's code is left for good.
class Outside {
 public:
  Outside() : me_(watched) { watched = nullptr; }
  ~Outside() {
    if (me_ != nullptr) go_back();
  }
  Outside(const Outside&) = delete;
  Outside& operator=(const Outside&) = delete;

 private:
  void go_back();

  Watched* me_;
};

/// A launch of `blocks` begins; launches are one after the other.
void begin_launch(std::uint32_t blocks);
void forget_sync_points();
/// __syncwarp of these lanes: the `of_lane` are of the warp, 32 of them.
void meet_in_warp(unsigned mask, Watched* const* of_lane);
/// __threadfence.
void fence(Watched& me);

}  // namespace octet::emulated
