#include "tests/emulated/checks/watched.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>

#include "tests/emulated/block_shared_memory.h"
#include "tests/emulated/checks/device_places.h"
#include "tests/emulated/checks/touched_bytes.h"
#include "tests/emulated/thread_block.h"

namespace octet::emulated {

constinit thread_local Watched* watched = nullptr;

bool accesses_are_checked = false;

namespace {

std::uint32_t first_of_launch = 1, next_run = 1;

/// Zeros, which cost memory where they are touched. Never given back, as the threads that run blocks stay.
template <typename T>
T* zeros(std::size_t n) {
  void* p = mmap(nullptr, n * sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) throw std::bad_alloc();
  return static_cast<T*>(p);
}

}  // namespace

void Outside::go_back() {
  if (std::uncaught_exceptions() == 0) watched = me_;
}

void begin_launch(std::uint32_t blocks) {
  Places::get();
  if (accesses_are_checked) TouchedBytes::get();
  forget_sync_points();
  first_of_launch = next_run;
  next_run += blocks;
}

void WatchedBlock::begin(const Grid& grid, unsigned number) {
  first_run = first_of_launch;
  run = first_run + number;
  in_cluster = grid.cluster;
  cluster_run = first_run + number / grid.cluster * grid.cluster;
  counter = epoch = 1;
  too_long = false;
  dynamic = reinterpret_cast<std::uintptr_t>(cuda::dynamic_shared_memory);
  dynamic_bytes = grid.shared;
  variables = reinterpret_cast<std::uintptr_t>(&first_variable);
  variable_bytes = reinterpret_cast<std::uintptr_t>(&last_variable) - variables;
  const std::size_t words = (most_dynamic_shared + variable_bytes) / Shadow::word + 1;
  if (shared == nullptr) shared = zeros<Shadow>(words);
  if (grid.cluster > 1 && others_reading == nullptr) others_reading = zeros<std::uint64_t>(words);
  read_by_others = grid.cluster > 1 ? others_reading : nullptr;
  acquired.clear();
  of_cluster = nullptr;
  cluster_epoch = 0;
  cluster_stamps[0] = cluster_stamps[1] = 1;
}

void WatchedBlock::barrier() {
  epoch = next_stamp();
}
std::uint32_t WatchedBlock::next_stamp() {
  static std::atomic_flag told;
  if (counter < last_stamp) ++counter;
  too_long = counter >= last_stamp;
  if (too_long && accesses_are_checked && !told.test_and_set())
    std::fprintf(stderr, "emulated device: a block meets so often that races are looked for in its beginning alone\n");
  return counter;
}
void WatchedBlock::before_cluster_barrier() {
  __atomic_store_n(&cluster_stamps[(cluster_epoch + 1) % 2], counter + 1, __ATOMIC_RELEASE);
}
void WatchedBlock::cluster_barrier() {
  barrier();
  ++cluster_epoch;
}

void Watched::begin(WatchedBlock* of, SeenByWarp* seen_by_warp, unsigned thread) {
  block = of;
  warp = seen_by_warp;
  number = thread;
  be_at(of->epoch);
  fence = fence_epoch = 0;
  unfenced.clear();
}
void Watched::be_at(std::uint32_t new_stamp) {
  stamp = new_stamp;
  now = std::bit_cast<std::uint64_t>(Touched{
      .run = block->run, .stamp = new_stamp & WatchedBlock::last_stamp, .thread = number & 1023u, .bytes = 0xF});
}
unsigned Watched::seen(unsigned lane) const {
  return warp->run == block->run ? warp->stamps[number % 32][lane] : 0;
}

void meet_in_warp(unsigned mask, Watched* const* of_lane) {
  const auto each = [&](const auto& f) {
    for (unsigned lane = 0; lane < 32; ++lane) {
      if ((mask >> lane & 1u) != 0) f(lane);
    }
  };
  Watched& one = *of_lane[std::countr_zero(mask)];
  SeenByWarp& seen = *one.warp;
  if (seen.run != one.block->run) {
    std::memset(seen.stamps, 0, sizeof seen.stamps);
    seen.run = one.block->run;
    seen.whole = 0;
  }
  std::uint16_t all[32] = {};
  each([&](unsigned lane) {
    for (unsigned i = 0; i < 32; ++i) all[i] = std::max(all[i], seen.stamps[lane][i]);
  });
  each([&](unsigned lane) { all[lane] = std::max(all[lane], static_cast<std::uint16_t>(of_lane[lane]->stamp)); });
  const std::uint32_t now = one.block->next_stamp();
  const auto is_of_mask = [&](unsigned lane) { return of_lane[lane] == nullptr || (mask >> lane & 1u) != 0; };
  bool all_meet = true;
  for (unsigned lane = 0; lane < 32; ++lane) all_meet = all_meet && is_of_mask(lane);
  if (all_meet) seen.whole = now;
  each([&](unsigned lane) {
    std::copy(std::begin(all), std::end(all), seen.stamps[lane]);
    of_lane[lane]->be_at(now);
  });
}

}  // namespace octet::emulated
