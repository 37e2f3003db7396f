#include "tests/emulated/running_block.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "tests/emulated/async_copies.h"
#include "tests/emulated/block_shared_memory.h"
#include "tests/emulated/checks/accesses.h"
#include "tests/emulated/stacks.h"

namespace octet::emulated {

constinit thread_local Block* running = nullptr;
constinit thread_local Runner* turn = nullptr;

namespace {

static_assert(Stacks::bytes == stack_bytes, "what is checked is not of a thread's own stack");

thread_local std::vector<std::unique_ptr<Runner>> runners;
thread_local WatchedBlock watched_block;
thread_local SeenByWarp seen_by_warp[1024 / warp];

/// The running thread gives its turn away until the gate is open.
void wait(const char* what, Gate& gate) {
  Runner& runner = *turn;
  runner.thread.gate = &gate;
  runner.thread.waits_for = what;
  runner.scheduler = std::move(runner.scheduler).resume();
}

}  // namespace

void Barrier::wait(const char* what) {
  ++there_;
  emulated::wait(what, gates_.back());
}
void Barrier::open() {
  gates_.back().open = true;
  gates_.emplace_back();
  there_ = 0;
}

Block::Block(const Grid& grid, unsigned number, uint3 index, const std::function<void()>& kernel, ClusterPlace* place,
             std::uint64_t seed)
    : kernel_(kernel), place_(place), order_(seed) {
  count_ = grid.threads.x * grid.threads.y * grid.threads.z;
  while (runners.size() < count_) runners.push_back(std::make_unique<Runner>());
  meetings_.resize((count_ + warp - 1) / warp);
  watched_block.begin(grid, number);
  if (place != nullptr) {
    watched_block.of_cluster = place->cluster->watched();
    place->cluster->watch(place->rank, &watched_block);
  }
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
    runner.watched.begin(&watched_block, &seen_by_warp[i / warp], i);
  }
  forget_shared_memory(grid.shared, seed % 16 == 0);
  running = this;
}
Block::~Block() {
  running = nullptr;
  if (faultless()) return;
  for (auto& runner : runners) {
    // Its stack cannot be unwound from there; it stays, as what is on it does.
    if (runner->abandoned) static_cast<void>(new boost::context::fiber(std::move(runner->fiber)));
  }
  runners.clear();  // fibers that stand in the middle of a kernel
}

void Block::run(std::size_t shared) {
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
void Block::run_thread() {
  try {
    kernel_();
    end_copies();
  } catch (const Fault& f) {
    told(f.what());
  }
}
void Block::told(const std::string& fault) {
  const Thread& thread = turn->thread;
  what_ = fmt::format("{} (block {}, thread {})", fault, thread.block_index.x, thread.number);
}

void Block::block_barrier() {
  of_block_.wait("__syncthreads");
  turn->watched.be_at(watched_block.epoch);
}
void Block::cluster_barrier() {
  if (place_ == nullptr) throw Fault("a barrier of a cluster in a launch without clusters");
  of_cluster_.wait("a barrier of the cluster");
  turn->watched.be_at(watched_block.epoch);
}

void Block::meet(const char* what, unsigned mask, std::uint64_t value, LaneValues& values, bool orders_memory) {
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
    if (orders_memory) {
      Watched* of_lane[warp] = {};
      for (unsigned i = 0; i < warp && first + i < count_; ++i) of_lane[i] = &runners[first + i]->watched;
      meet_in_warp(mask, of_lane);
    }
  } else {
    wait(what, meeting.gate);
  }
  std::copy(std::begin(meeting.values), std::end(meeting.values), std::begin(values));
  meeting.gone |= 1u << lane;
  if (meeting.gone == mask) meeting.mask = 0;
}

/// Each warp goes on until all its lanes wait for others, from a warp and a lane and in a direction that change.
bool Block::pass() {
  bool moved = false;
  const auto warps = static_cast<unsigned>(meetings_.size());
  const auto from = static_cast<unsigned>(order_() % warps);
  for (unsigned i = 0; i < warps && what_.empty(); ++i) {
    while (what_.empty() && pass((from + i) % warps)) moved = true;
  }
  return moved;
}
bool Block::pass(unsigned of_warp) {
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

void Block::give_turn(Runner& runner) {
  runner.thread.gate = nullptr;
  turn = &runner;
  has_turn = &runner.thread;
  if (!runner.fiber) {
    runner.fiber = boost::context::fiber(std::allocator_arg, Stacks(runner.thread.number, runner.watched.stack_top),
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
bool Block::open_gates() {
  const bool block = of_block_.is_full(count_ - ended_), cluster = of_cluster_.is_full(count_ - ended_);
  if (block) {
    of_block_.open();
    watched_block.barrier();
  }
  if (cluster) {
    watched_block.before_cluster_barrier();
    place_->cluster->barrier();
    of_cluster_.open();
    watched_block.cluster_barrier();
  }
  return block || cluster;
}

std::string Block::hanging() const {
  std::string at;
  unsigned shown = 0;
  for (unsigned i = 0; i < count_ && shown < 4; ++i) {
    const Thread& thread = runners[i]->thread;
    if (thread.ended) continue;
    at += fmt::format("{}thread {} at {}", at.empty() ? "" : ", ", i, thread.waits_for);
    ++shown;
  }
  return fmt::format("the block hangs: {} of {} threads have ended, {} wait ({})", ended_, count_, count_ - ended_, at);
}

}  // namespace octet::emulated
