#pragma once

#include <boost/context/fiber.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <random>
#include <string>
#include <vector>

#include "tests/emulated/block_cluster.h"
#include "tests/emulated/checks/watched.h"
#include "tests/emulated/meetings.h"
#include "tests/emulated/thread_block.h"

namespace octet::emulated {

constexpr unsigned warp = 32;

class Block;

/// A fiber that runs one thread of a kernel after the other. Kept from block to block: making one costs more than most
/// kernels' threads.
struct Runner {
  Thread thread;
  boost::context::fiber fiber, scheduler;
  Block* block = nullptr;
  Watched watched;
  bool abandoned = false;
};

/// Where all threads of a block meet, again and again.
class Barrier {
 public:
  void wait(const char* what);
  bool is_full(unsigned threads) const { return there_ > 0 && there_ == threads; }
  void open();

 private:
  std::list<Gate> gates_{1};  ///< of each time; threads look at theirs when their turn comes
  unsigned there_ = 0;
};

/// The threads of one block. Lives while the block runs, on one thread of the operating system. What the running
/// thread of the kernel asks of it is `told` to `meet`.
class Block {
 public:
  Block(const Grid& grid, unsigned number, uint3 index, const std::function<void()>& kernel, ClusterPlace* place,
        std::uint64_t seed);
  ~Block();
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  /// `shared`: bytes of dynamic shared memory that the launch asked for. Throws Fault.
  void run(std::size_t shared);
  ClusterPlace* place() const { return place_; }

  /// A fault, which ends the kernel.
  void told(const std::string& fault);
  void block_barrier();
  void cluster_barrier();
  void meet(const char* what, unsigned mask, std::uint64_t value, LaneValues& values, bool orders_memory = false);

 private:
  void run_thread();
  bool faultless() const { return ended_ == count_ && what_.empty(); }
  bool pass();
  bool pass(unsigned of_warp);
  void give_turn(Runner& runner);
  bool open_gates();
  std::string hanging() const;

  const std::function<void()>& kernel_;
  ClusterPlace* place_;
  std::minstd_rand order_;
  unsigned count_ = 0, ended_ = 0;
  std::vector<Meetings> meetings_;  ///< of each warp
  Barrier of_block_, of_cluster_;
  std::string what_;
};

/// The block that runs on this thread of the operating system, and whose turn it is.
extern constinit thread_local Block* running;
extern constinit thread_local Runner* turn;

}  // namespace octet::emulated
