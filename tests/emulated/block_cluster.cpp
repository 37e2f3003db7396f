#include "tests/emulated/block_cluster.h"

#include <fmt/format.h>

#include "tests/emulated/block_shared_memory.h"
#include "tests/emulated/workers.h"

namespace octet::emulated {
namespace {

/// Where this thread's thread-local memory is: what a program has from its start lies at the same distance in each.
char* thread_base() {
  char* base = nullptr;
  asm("mov %%fs:0, %0" : "=r"(base));
  return base;
}

}  // namespace

void Cluster::enter(unsigned rank) {
  const std::scoped_lock lock(mutex_);
  bases_[rank] = thread_base();
}

void Cluster::leave(unsigned rank, bool failed) {
  const std::scoped_lock lock(mutex_);
  ended_[rank] = true;
  watch(rank, nullptr);
  failed_ = failed_ || failed;
  --members_;
  if (arrived_ > 0 && arrived_ == members_) {
    arrived_ = 0;
    ++generation_;
  }
  changed_.notify_all();
}

void Cluster::barrier() {
  std::unique_lock lock(mutex_);
  if (++arrived_ == members_) {
    arrived_ = 0;
    ++generation_;
    changed_.notify_all();
    return;
  }
  const std::uint64_t mine = generation_;
  changed_.wait(lock, [&] { return generation_ != mine || failed_; });
  if (generation_ == mine) throw Fault("another block of the cluster failed");
}

const void* Cluster::in_block(const void* shared, unsigned rank) {
  const std::scoped_lock lock(mutex_);
  if (rank >= bases_.size()) throw Fault(fmt::format("block {} of a cluster of {}", rank, bases_.size()));
  if (bases_[rank] == nullptr || ended_[rank]) {
    throw Fault(fmt::format("the shared memory of block {} of the cluster, which {}", rank,
                            ended_[rank] ? "has ended" : "may not have begun"));
  }
  return bases_[rank] + (static_cast<const char*>(shared) - thread_base());
}

void run_cluster(const Grid& grid, unsigned number, const std::function<void()>& kernel, std::uint64_t seed) {
  Cluster cluster(grid.cluster);
  std::vector<std::string> faults(grid.cluster);
  Workers::get().run(grid.cluster, [&](unsigned rank) {
    cluster.enter(rank);
    ClusterPlace place{&cluster, rank};
    try {
      run_block(grid, number * grid.cluster + rank, kernel, &place, seed + rank);
    } catch (const Fault& f) {
      faults[rank] = f.what();
    }
    cluster.leave(rank, !faults[rank].empty());
    forget_shared_memory(grid.shared, true);  // who reads it now is too late
  });
  for (const std::string& f : faults) {
    if (!f.empty() && f.find("another block") == std::string::npos) throw Fault(f);
  }
}

}  // namespace octet::emulated
