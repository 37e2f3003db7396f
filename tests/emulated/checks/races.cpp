// Which accesses of two threads have an order, and which have none.
#include <fmt/format.h>

#include <bit>

#include "tests/emulated/checks/accesses.h"
#include "tests/emulated/checks/races.h"

namespace octet::emulated {
namespace {

/// Where what is remembered is of a block that runs now: of shared memory this one, of device memory all of the launch.
template <bool shared>
bool is_of_now(const Touched& by, const WatchedBlock& block) {
  return shared ? by.run == block.run : by.run >= block.first_run;
}
bool is_of_my_warp(const Touched& by, const Watched& me) {
  return by.thread / 32 == me.number / 32;
}
/// Blocks of a cluster wait for each other, and what they tell each other through device memory is not looked at.
bool is_of_my_cluster(const Touched& by, const WatchedBlock& block) {
  return by.run - block.cluster_run < block.in_cluster;
}

/// Whether what was written last is before what `me` does.
bool is_before(const Touched& write, const Watched& me) {
  const WatchedBlock& block = *me.block;
  const Adders by = adders(write);
  if (by == Adders::blocks) return has_acquired(me);
  if (write.run != block.run) return is_of_my_cluster(write, block) || is_acquired(write, me);
  if (is_pending(write)) return false;
  if (write.stamp < block.epoch) return true;
  if (by == Adders::warps || !is_of_my_warp(write, me)) return false;
  if (by == Adders::lanes) return write.stamp < me.warp_met();
  return write.thread == me.number || write.stamp <= me.seen(write.thread % 32);
}
/// Whether all that read are.
bool are_before(const Touched& reads, const Watched& me) {
  const WatchedBlock& block = *me.block;
  if (reads.blocks_or_pending != 0) return has_acquired(me);
  if (reads.run != block.run) return is_of_my_cluster(reads, block) || is_acquired(reads, me);
  if (reads.stamp < block.epoch) return true;
  if (reads.warps_or_several != 0 || !is_of_my_warp(reads, me)) return false;
  if (reads.lanes_or_atomic != 0) return reads.stamp < me.warp_met();
  return reads.thread == me.number || reads.stamp <= me.seen(reads.thread % 32);
}

/// Who has changed the word, where `me` adds to it with no order after `wrote`.
Adders joined(const Touched& wrote, const Watched& me) {
  const Adders before = adders(wrote);
  if (before == Adders::blocks || wrote.run != me.block->run) return Adders::blocks;
  if (before == Adders::warps || !is_of_my_warp(wrote, me)) return Adders::warps;
  return before == Adders::lanes || wrote.thread != me.number ? Adders::lanes : Adders::one;
}

[[noreturn]] void race(Access access, const Touched& with, bool wrote, const Watched& me, std::uintptr_t at,
                       unsigned bytes, const void* from) {
  std::string other = fmt::format("thread {}", static_cast<unsigned>(with.thread));
  if (with.run != me.block->run) other += fmt::format(" of block {}", with.run - me.block->first_run);
  const char* what = !wrote                      ? "reads"
                     : is_pending(with)          ? "copies to and has not waited for"
                     : with.lanes_or_atomic != 0 ? "changes by an atomic"
                                                 : "writes";
  refuse(fmt::format("a race: {} {}, which {} {}, with nothing between them", verb(access),
                     place(at, static_cast<std::size_t>(std::popcount(bytes)), *me.block), other, what),
         from);
}

template <bool shared>
[[gnu::always_inline]] inline void touch(Shadow& word, unsigned bytes, Access access, const Watched& me,
                                         std::uintptr_t at, const void* from) {
  const WatchedBlock& block = *me.block;
  const bool atomic = access == Access::atomic || access == Access::atomic_read;
  const Touched wrote = load(word.write);
  const bool of_now = is_of_now<shared>(wrote, block) && (wrote.bytes & bytes) != 0;
  if (of_now && !(atomic && wrote.lanes_or_atomic != 0) && !is_before(wrote, me))
    race(access, wrote, true, me, at, bytes, from);
  if (access == Access::atomic_read) return;

  Touched now;
  now.run = block.run;
  now.stamp = me.stamp;
  now.thread = me.number;
  now.bytes = bytes;
  const Touched read = load(word.read);
  const bool read_now = is_of_now<shared>(read, block);
  if (access != Access::read) {
    if (read_now && (read.bytes & bytes) != 0 && !are_before(read, me)) race(access, read, false, me, at, bytes, from);
    if (access == Access::copy) now.blocks_or_pending = 1;
    if (access == Access::atomic) {
      const bool joins = of_now && !is_before(wrote, me);
      set_adders(now, joins ? joined(wrote, me) : Adders::one);
      if (joins && wrote.run == now.run && wrote.stamp > now.stamp) now.stamp = wrote.stamp;
    }
    Touched before = wrote;
    before.bytes = now.bytes;
    if (before == now) now.bytes = wrote.bytes | bytes;  // of the word's other bytes, which this thread wrote too
    store(word.write, now);
    return;
  }
  const bool shares = read_now && (read.bytes & bytes) != 0;
  if (shares && !are_before(read, me)) {
    now.bytes = read.bytes & bytes;
    if (read.run != block.run) {
      now.blocks_or_pending = 1;
    } else {
      now.lanes_or_atomic = read.lanes_or_atomic;
      now.warps_or_several = read.warps_or_several;
      now.blocks_or_pending = read.blocks_or_pending;
      if (!is_of_my_warp(read, me)) {
        now.warps_or_several = 1;
      } else if (read.thread != me.number) {
        now.lanes_or_atomic = 1;
      }
      if (read.stamp > now.stamp) now.stamp = read.stamp;
    }
  } else if (read.run == now.run && read.thread == now.thread && read.stamp == now.stamp) {
    now.bytes = read.bytes | bytes;
  }
  store(word.read, now);
}

template <bool shared>
void touch_all(Shadow* word, std::uintptr_t at, std::size_t size, Access access, const Watched& me, const void* from) {
  if (me.block->too_long) return;
  if (at % 4 == 0 && size % 4 == 0) {
    for (std::size_t done = 0; done < size; done += 4) touch<shared>(*word++, 0xF, access, me, at + done, from);
    return;
  }
  while (size > 0) {
    const std::size_t within = at % 4, here = size < 4 - within ? size : 4 - within;
    touch<shared>(*word++, ((1u << here) - 1) << within, access, me, at, from);
    at += here;
    size -= here;
  }
}

}  // namespace

void touch_shared(Shadow* word, std::uintptr_t at, std::size_t size, Access access, const Watched& me,
                  const void* from) {
  touch_all<true>(word, at, size, access, me, from);
}
void touch_device(std::uintptr_t at, std::size_t size, Access access, const Watched& me, const void* from) {
  touch_all<false>(Shadow::of_device(at), at, size, access, me, from);
}

void settle_shared(Shadow* word, std::size_t size, const Watched& me) {
  for (std::size_t done = 0; done < size; done += 4, ++word) {
    Touched wrote = load(word->write);
    if (wrote.run != me.block->run || wrote.thread != me.number || !is_pending(wrote)) continue;
    wrote.blocks_or_pending = 0;
    wrote.stamp = me.stamp;
    store(word->write, wrote);
  }
}

}  // namespace octet::emulated
