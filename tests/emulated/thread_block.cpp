#include "tests/emulated/thread_block.h"

#include <cstdlib>

#include "tests/emulated/checks/accesses.h"
#include "tests/emulated/running_block.h"

namespace octet::emulated {

constinit thread_local Thread* has_turn = nullptr;

KernelCode::KernelCode(const void* arguments, std::size_t bytes) {
  if (!accesses_are_checked) return;
  turn->watched.arguments = reinterpret_cast<std::uintptr_t>(arguments);
  turn->watched.argument_bytes = bytes;
  watched = &turn->watched;
}
KernelCode::~KernelCode() {
  watched = nullptr;
}

void block_barrier() {
  const Outside outside;
  running->block_barrier();
}
void warp_barrier(unsigned mask) {
  const Outside outside;
  LaneValues values;
  running->meet("__syncwarp", mask, 0, values, true);
}
void fence() {
  const Outside outside;
  fence(turn->watched);
}
void meet(const char* what, unsigned mask, std::uint64_t value, LaneValues& values) {
  const Outside outside;
  running->meet(what, mask, value, values);
}
void fault(const char* what, const char* more) {
  watched = nullptr;
  throw Fault(std::string(what) + more);
}
void abandon(const std::string& what) {
  running->told(what);
  turn->abandoned = true;
  turn->scheduler = std::move(turn->scheduler).resume();
  std::abort();  // nobody resumes it
}
unsigned cluster_rank() {
  return running->place() == nullptr ? 0 : running->place()->rank;
}
void cluster_barrier() {
  const Outside outside;
  running->cluster_barrier();
}
const void* in_block(const void* shared, unsigned rank) {
  const Outside outside;
  if (running->place() == nullptr) throw Fault("memory of another block in a launch without clusters");
  return running->place()->cluster->in_block(shared, rank);
}

void run_block(const Grid& grid, unsigned number, const std::function<void()>& kernel, ClusterPlace* place,
               std::uint64_t seed) {
  const uint3 index{number % grid.blocks.x, number / grid.blocks.x % grid.blocks.y,
                    number / grid.blocks.x / grid.blocks.y};
  Block(grid, number, index, kernel, place, seed).run(grid.shared);
}

}  // namespace octet::emulated
