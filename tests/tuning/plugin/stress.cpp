// Many threads ask tuners of several communicators at once, while others make and end communicators: what they get must
// be what one thread gets. For ThreadSanitizer, with nothing in the process but the plugin.
// Usage: octet-tuner-stress TUNING_FILE      of NCCL 2.28, with choices for all_reduce on 16 nodes of 8
#include <atomic>
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

#include "tests/tuning/plugin/plugin_harness.h"

namespace octet::test {
namespace {

constexpr int threads = 8, rounds = 2000, collectives = 5, sizes = 40;

CostTable table(int salt) {
  CostTable costs;
  for (std::size_t i = 0; i < costs.size(); ++i) {
    costs[i] = i % 5 == 4 ? -1.0F : static_cast<float>(10 + (i * 7 + static_cast<std::size_t>(salt)) % 13);
  }
  return costs;
}

/// The choices of every size of every collective.
std::vector<int> decisions(const Tuner& tuner) {
  std::vector<int> chosen;
  for (unsigned function = 0; function < collectives; ++function) {
    for (int size = 0; size < sizes; ++size) {
      chosen.push_back(cheapest(tuner.ask(function, std::size_t{1} << size, table(size))));
    }
  }
  return chosen;
}

int run() {
  const Library plugin(OCTET_TUNER_PLUGIN);
  const StandInNccl nccl;
  StandInNccl::set_version(22809);
  std::vector<std::unique_ptr<const Tuner>> tuners;
  for (const std::size_t nodes : {1, 2, 4, 16, 64}) {
    tuners.push_back(std::make_unique<const Tuner>(plugin, 5, nodes * 8, nodes, nccl.logger(), nullptr));
  }
  std::vector<std::vector<int>> expected;
  expected.reserve(tuners.size());
  for (const auto& tuner : tuners) expected.push_back(decisions(*tuner));
  if (expected[0] == expected[3]) {
    std::puts("the file chooses nothing for 16 nodes: the test would prove nothing");
    return 1;
  }
  std::atomic<int> different = 0;
  const auto work = [&](int thread) {
    for (int round = 0; round < rounds / threads; ++round) {
      const auto which = static_cast<std::size_t>(thread + round) % tuners.size();
      if (decisions(*tuners[which]) != expected[which]) ++different;
      if (round % 10 != 0) continue;
      tuner_abi::Constants constants{};
      const Tuner own(plugin, 4 + round / 10 % 3, 128, 16, nccl.logger(), &constants);
      if (decisions(own) != expected[3]) ++different;
    }
  };
  std::vector<std::thread> all;
  all.reserve(threads);
  for (int i = 0; i < threads; ++i) all.emplace_back(work, i);
  for (std::thread& one : all) one.join();
  std::printf("%d threads, %d rounds: %d different\n", threads, rounds, different.load());
  return different == 0 ? 0 : 1;
}

}  // namespace
}  // namespace octet::test

// NOLINTNEXTLINE(bugprone-exception-escape): one that escapes ends the process, which fails the test
int main(int argc, char** argv) {
  if (argc != 2) {
    std::puts("usage: octet-tuner-stress TUNING_FILE");
    return 64;
  }
  setenv("OCTET_TUNING_FILE", argv[1], 1);
  return octet::test::run();
}
