#include "tests/emulated/thread_block.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/context/fiber.hpp>
#include <cstring>
#include <list>
#include <random>

#include "tests/emulated/block_cluster.h"
#include "tests/emulated/block_shared_memory.h"
#include "tests/emulated/meetings.h"
#include "tests/emulated/stacks.h"

namespace octet::emulated {

thread_local Thread* has_turn = nullptr;

namespace {

constexpr unsigned warp = 32;

class Block;

/// A fiber that runs one thread of a kernel after the other. Kept from block to block: making one costs more than most
/// kernels' threads.
struct Runner {
  Thread thread;
  boost::context::fiber fiber, scheduler;
  Block* block = nullptr;
};

thread_local Block* running = nullptr;
thread_local Runner* turn = nullptr;
thread_local std::vector<std::unique_ptr<Runner>> runners;

/// The running thread gives its turn away until the gate is open.
void wait(const char* what, Gate& gate) {
  Runner& runner = *turn;
  runner.thread.gate = &gate;
  runner.thread.waits_for = what;
  runner.scheduler = std::move(runner.scheduler).resume();
}

/// Where all threads of a block meet, again and again.
class Barrier {
 public:
  void wait(const char* what) {
    ++there_;
    emulated::wait(what, gates_.back());
  }
  bool is_full(unsigned threads) const { return there_ > 0 && there_ == threads; }
  void open() {
    gates_.back().open = true;
    gates_.emplace_back();
    there_ = 0;
  }

 private:
  std::list<Gate> gates_{1};  ///< of each time; threads look at theirs when their turn comes
  unsigned there_ = 0;
};

/// The threads of one block. Lives while the block runs.
class Block {
 public:
  Block(const Grid& grid, uint3 index, const std::function<void()>& kernel, ClusterPlace* place, std::uint64_t seed)
      : kernel_(kernel), place_(place), order_(seed) {
    count_ = grid.threads.x * grid.threads.y * grid.threads.z;
    while (runners.size() < count_) runners.push_back(std::make_unique<Runner>());
    meetings_.resize((count_ + warp - 1) / warp);
    for (unsigned i = 0; i < count_; ++i) {
      Runner& runner = *runners[i];
      runner.block = this;
      runner.thread = {};
      runner.thread.index = {i % grid.threads.x, i / grid.threads.x % grid.threads.y,
                             i / grid.threads.x / grid.threads.y};
      runner.thread.block_index = index;
      runner.thread.block_size = grid.threads;
      runner.thread.grid_size = grid.blocks;
      runner.thread.number = i;
      runner.thread.copies_at_once = (seed & 1u) != 0;
    }
    forget_shared_memory(grid.shared, seed % 16 == 0);
    running = this;
  }
  ~Block() {
    running = nullptr;
    if (!faultless()) runners.clear();  // fibers that stand in the middle of a kernel
  }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  /// `shared`: bytes of dynamic shared memory that the launch asked for.
  void run(std::size_t shared) {
    while (ended_ < count_) {
      bool moved = pass();
      if (!what_.empty()) throw Fault(what_);
      moved = open_gates() || moved;
      if (!moved && ended_ < count_) throw Fault(hanging());
    }
    if (!is_untouched_behind(shared))
      throw Fault(fmt::format("a block wrote behind its {} bytes of dynamic shared memory", shared));
  }

  /// The body of a fiber: the kernel's thread.
  void run_thread() {
    try {
      kernel_();
      Thread& thread = turn->thread;
      for (const auto& group : thread.groups) finish(group);
      finish(thread.copies);
    } catch (const Fault& f) {
      const Thread& thread = turn->thread;
      what_ = fmt::format("{} (block {}, thread {})", f.what(), thread.block_index.x, thread.number);
    }
  }

  void block_barrier() { of_block_.wait("__syncthreads"); }
  void cluster_barrier() {
    if (place_ == nullptr) throw Fault("a barrier of a cluster in a launch without clusters");
    of_cluster_.wait("a barrier of the cluster");
  }

  void meet(const char* what, unsigned mask, std::uint64_t value, LaneValues& values) {
    const unsigned number = turn->thread.number, lane = number % warp;
    const unsigned first = number - lane;
    Meeting& meeting = meetings_[number / warp].of(what, mask, lane, [&](unsigned other) -> const char* {
      if (first + other >= count_) return "does not exist";
      return runners[first + other]->thread.ended ? "has ended" : nullptr;
    });
    meeting.values[lane] = value;
    meeting.there |= 1u << lane;
    if (meeting.there == mask) {
      meeting.gate.open = true;
    } else {
      wait(what, meeting.gate);
    }
    std::copy(std::begin(meeting.values), std::end(meeting.values), std::begin(values));
    meeting.gone |= 1u << lane;
    if (meeting.gone == mask) meeting.mask = 0;
  }

  ClusterPlace* place() const { return place_; }

  static void finish(const std::vector<Copy>& copies) {
    for (const Copy& c : copies) std::memcpy(c.to, c.from, c.bytes);
  }

 private:
  bool faultless() const { return ended_ == count_ && what_.empty(); }

  /// Each warp goes on until all its lanes wait for others, from a warp and a lane and in a direction that change.
  bool pass() {
    bool moved = false;
    const auto warps = static_cast<unsigned>(meetings_.size());
    const auto from = static_cast<unsigned>(order_() % warps);
    for (unsigned i = 0; i < warps && what_.empty(); ++i) {
      while (what_.empty() && pass((from + i) % warps)) moved = true;
    }
    return moved;
  }
  bool pass(unsigned of_warp) {
    bool moved = false;
    const unsigned first = of_warp * warp, lanes = std::min(warp, count_ - first);
    const auto random = static_cast<unsigned>(order_());
    const bool up = (random & 1u) != 0;
    for (unsigned i = 0; i < lanes && what_.empty(); ++i) {
      const unsigned step = (random / 2 + i) % lanes;
      Runner& runner = *runners[first + (up ? step : lanes - 1 - step)];
      if (runner.thread.ended || (runner.thread.gate != nullptr && !runner.thread.gate->open)) continue;
      moved = true;
      give_turn(runner);
    }
    return moved;
  }

  void give_turn(Runner& runner) {
    runner.thread.gate = nullptr;
    turn = &runner;
    has_turn = &runner.thread;
    if (!runner.fiber) {
      runner.fiber = boost::context::fiber(std::allocator_arg, Stacks(runner.thread.number),
                                           [&runner](boost::context::fiber&& scheduler) {
                                             runner.scheduler = std::move(scheduler);
                                             for (;;) {
                                               runner.block->run_thread();
                                               runner.thread.ended = true;
                                               ++runner.block->ended_;
                                               runner.scheduler = std::move(runner.scheduler).resume();
                                             }
                                             return boost::context::fiber();
                                           });
    }
    runner.fiber = std::move(runner.fiber).resume();
    turn = nullptr;
    has_turn = nullptr;
  }

  /// Barriers at which all threads that have not ended are.
  bool open_gates() {
    const bool block = of_block_.is_full(count_ - ended_), cluster = of_cluster_.is_full(count_ - ended_);
    if (block) of_block_.open();
    if (cluster) {
      place_->cluster->barrier();
      of_cluster_.open();
    }
    return block || cluster;
  }

  std::string hanging() const {
    std::string at;
    unsigned shown = 0;
    for (unsigned i = 0; i < count_ && shown < 4; ++i) {
      const Thread& thread = runners[i]->thread;
      if (thread.ended) continue;
      at += fmt::format("{}thread {} at {}", at.empty() ? "" : ", ", i, thread.waits_for);
      ++shown;
    }
    return fmt::format("the block hangs: {} of {} threads have ended, {} wait ({})", ended_, count_, count_ - ended_,
                       at);
  }

  const std::function<void()>& kernel_;
  ClusterPlace* place_;
  std::minstd_rand order_;
  unsigned count_ = 0, ended_ = 0;
  std::vector<Meetings> meetings_;  ///< of each warp
  Barrier of_block_, of_cluster_;
  std::string what_;
};

}  // namespace

void block_barrier() {
  running->block_barrier();
}
void meet(const char* what, unsigned mask, std::uint64_t value, LaneValues& values) {
  running->meet(what, mask, value, values);
}
void fault(const std::string& what) {
  throw Fault(what);
}
unsigned cluster_rank() {
  return running->place() == nullptr ? 0 : running->place()->rank;
}
void cluster_barrier() {
  running->cluster_barrier();
}
const void* in_block(const void* shared, unsigned rank) {
  if (running->place() == nullptr) throw Fault("memory of another block in a launch without clusters");
  return running->place()->cluster->in_block(shared, rank);
}

void run_block(const Grid& grid, unsigned number, const std::function<void()>& kernel, ClusterPlace* place,
               std::uint64_t seed) {
  const uint3 index{number % grid.blocks.x, number / grid.blocks.x % grid.blocks.y,
                    number / grid.blocks.x / grid.blocks.y};
  Block(grid, index, kernel, place, seed).run(grid.shared);
}

}  // namespace octet::emulated
