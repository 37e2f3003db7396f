#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <random>
#include <thread>

#include "tests/emulated/block_cluster.h"
#include "tests/emulated/checks/stream_races.h"
#include "tests/emulated/checks/touched_bytes.h"
#include "tests/emulated/checks/watched.h"
#include "tests/emulated/workers.h"

namespace octet::emulated {

namespace {

/// Blocks that know nothing of each other, on as many threads as the machine has, up to eight.
void run_apart(const Grid& grid, const std::vector<unsigned>& order, const std::function<void()>& kernel,
               std::uint64_t seed) {
  const auto most =
      static_cast<unsigned>(std::min<std::size_t>({order.size(), std::thread::hardware_concurrency(), 8}));
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::string fault;
  Workers::get().run(std::max(most, 1u), [&](unsigned) {
    try {
      for (std::size_t i = next++; i < order.size(); i = next++) run_block(grid, order[i], kernel, nullptr, seed + i);
    } catch (const Fault& f) {
      next = order.size();
      const std::scoped_lock lock(mutex);
      fault = f.what();
    }
  });
  if (!fault.empty()) throw Fault(fault);
}

}  // namespace

void run(const Grid& grid, const std::function<void()>& kernel) {
  static std::mutex one_at_a_time;
  const std::scoped_lock lock(one_at_a_time);
  static std::uint64_t launches = 0;
  std::mt19937 order(static_cast<unsigned>(++launches));
  const unsigned blocks = grid.blocks.x * grid.blocks.y * grid.blocks.z;
  begin_launch(blocks);
  std::vector<unsigned> groups(blocks / grid.cluster);
  std::iota(groups.begin(), groups.end(), 0u);
  std::shuffle(groups.begin(), groups.end(), order);
  try {
    if (grid.cluster == 1) run_apart(grid, groups, kernel, order());
    if (grid.cluster > 1) {
      for (const unsigned group : groups) run_cluster(grid, group, kernel, order());
    }
  } catch (const Fault& f) {
    if (accesses_are_checked) TouchedBytes::get().forget();
    throw Fault(fmt::format("{}: {}", grid.kernel, f.what()));
  }
  launch_ends();
}

}  // namespace octet::emulated
