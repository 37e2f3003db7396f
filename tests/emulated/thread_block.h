#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

/// The threads of a CUDA kernel on a processor: each is a fiber, and those of a block take turns on one thread of the
/// operating system, from one point at which they wait for each other to the next. What a GPU leaves undefined, and
/// what makes a kernel hang on one, is a Fault here; whose turn it is changes from pass to pass, so that a result which
/// depends on it shows.
namespace octet::emulated {

/// A kernel broke a rule of CUDA.
struct Fault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// What threads wait for together.
struct Gate {
  bool open = false;
};

/// What lanes of a warp that meet have brought, each a value.
using LaneValues = std::uint64_t[32];

/// A copy into shared memory that a thread has begun (async_copies.h).
struct Copy {
  void* to;
  const void* from;
  std::size_t bytes;
  bool done;
};

/// Where the running thread is, and what it shares with whom.
struct Thread {
  uint3 index{}, block_index{};
  dim3 block_size{}, grid_size{};
  unsigned number = 0;  ///< in its block
  bool copies_at_once = false;
  const char* waits_for = nullptr;  ///< for the message of a block that hangs
  Gate* gate = nullptr;
  bool ended = false;
  std::vector<Copy> copies;
  std::vector<std::vector<Copy>> groups;
};

/// The thread that has its turn, on this thread of the operating system.
extern constinit thread_local Thread* has_turn;

// Of the running thread. Calls in code whose accesses are checked, since it is not the kernel that reads there.
#ifdef __SANITIZE_THREAD__
[[gnu::const]] uint3 thread_index();
[[gnu::const]] uint3 block_index();
[[gnu::const]] dim3 block_size();
[[gnu::const]] dim3 grid_size();
[[gnu::const]] unsigned lane();
#else
#define OCTET_ALSO_CALLED [[gnu::used]] inline
OCTET_ALSO_CALLED uint3 thread_index() {
  return has_turn->index;
}
OCTET_ALSO_CALLED uint3 block_index() {
  return has_turn->block_index;
}
OCTET_ALSO_CALLED dim3 block_size() {
  return has_turn->block_size;
}
OCTET_ALSO_CALLED dim3 grid_size() {
  return has_turn->grid_size;
}
OCTET_ALSO_CALLED unsigned lane() {
  return has_turn->number % 32;
}
#undef OCTET_ALSO_CALLED
#endif

/// While it lives, the running thread is in a kernel's own code, whose accesses are checked (checks/). `arguments`:
/// what was given to the kernel.
class KernelCode {
 public:
  KernelCode(const void* arguments, std::size_t bytes);
  ~KernelCode();
  KernelCode(const KernelCode&) = delete;
  KernelCode& operator=(const KernelCode&) = delete;
};

/// __syncthreads.
void block_barrier();
/// __syncwarp, which alone of what lanes do together orders what they do in memory.
void warp_barrier(unsigned mask);
/// __threadfence.
void fence();
/// All lanes of `mask` meet and leave with the values of all in `values`. Throws Fault where the caller is not of the
/// mask, or one of it has ended or does not exist.
void meet(const char* what, unsigned mask, std::uint64_t value, LaneValues& values);
/// Ends the kernel: __trap, and what a GPU cannot do.
[[noreturn]] void fault(const char* what, const char* more = "");
/// The same without an exception: the thread does not go on, and what it has on its stack stays there.
[[noreturn]] void abandon(const std::string& what);

constexpr std::size_t most_dynamic_shared = 227 * 1024;  ///< bytes, of an H100; a device may have less (runtime.cpp)

// Clusters.
unsigned cluster_rank();
void cluster_barrier();
/// The same place in the shared memory of another block of the cluster.
const void* in_block(const void* shared, unsigned rank);

struct Grid {
  std::string kernel;  ///< its name, for messages
  dim3 blocks, threads;
  unsigned cluster = 1;  ///< blocks of a cluster
  std::size_t shared = 0;
};
/// Runs a grid: blocks at once on a few threads, or clusters one by one, in an order that differs from launch to
/// launch. Throws Fault with the kernel's name.
void run(const Grid& grid, const std::function<void()>& kernel);

}  // namespace octet::emulated

namespace octet::cuda {
/// A block's dynamic shared memory, on 128 bytes; of its thread of the operating system. Declared as the kernels'
/// headers do (shared_memory.cuh).
extern thread_local int4 dynamic_shared_memory[emulated::most_dynamic_shared / sizeof(int4)];
}  // namespace octet::cuda
