// The arithmetic of the cross-entropy kernels on the host, values shared among threads and merged as on the device,
// against the CPU's kernel: in parts, some of them empty, and on logits that are not finite.
#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "kernels/cpu/cpu_kernels.h"
#include "kernels/cuda/device/online_sum.cuh"
#include "tests/gpu/distance.h"
#include "tests/support/numbers.h"

namespace octet {
namespace {

using cuda::logit_rows::OnlineSum;
using gpu_test::distance;
using test::random_values;

constexpr float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
constexpr int warp = 32, values = 16;  // of a thread at once: 4 loads of 4

using Warp = std::array<OnlineSum, warp>;

Warp merged(Warp lanes) {
  for (int distance = warp / 2; distance > 0; distance /= 2) {
    const Warp before = lanes;
    for (std::size_t i = 0; i < warp; ++i) {
      const OnlineSum& other = before[i ^ static_cast<std::size_t>(distance)];
      lanes[i].merge(other.max, other.sum);
    }
  }
  return lanes;
}

/// Of one row by a block of `warps`.
OnlineSum sum_row(const float* x, std::int64_t vocab, int warps) {
  Warp block{};
  for (int w = 0; w < warps; ++w) {
    Warp lanes{};
    for (int lane = 0; lane < warp; ++lane) {
      const std::int64_t thread = w * warp + lane;
      for (std::int64_t begin = 0; begin < vocab; begin += std::int64_t{warps} * warp * values) {
        float v[values];
        for (int j = 0; j < values; ++j) {
          const std::int64_t i = begin + (j / 4 * std::int64_t{warps} * warp + thread) * 4 + j % 4;
          v[j] = i < vocab ? x[i] : -infinity;
        }
        lanes[static_cast<std::size_t>(lane)].add(v);
      }
    }
    block[static_cast<std::size_t>(w)] = merged(lanes)[0];
  }
  return merged(block)[0];
}

/// One row whose columns lie in parts, by the CPU's kernels and by the device's arithmetic.
struct Row {
  std::vector<float> logits;
  std::int32_t target;
  std::vector<std::int64_t> counts;

  struct Result {
    std::vector<float> stats, losses, gradient;
  };

  Result on_cpu() const {
    Result r{std::vector<float>(counts.size() * 3), {0}, std::vector<float>(logits.size())};
    const auto stream = cpu_device().make_stream();
    std::int64_t begin = 0;
    for (std::size_t p = 0; p < counts.size(); begin += counts[p++]) {
      cpu::cross_entropy_stats(*stream, {.logits = logits.data() + begin,
                                         .targets = &target,
                                         .vocab_begin = begin,
                                         .rows = 1,
                                         .vocab = counts[p],
                                         .stats = r.stats.data() + 3 * p});
    }
    begin = 0;
    for (std::size_t p = 0; p < counts.size(); begin += counts[p++]) {
      cpu::cross_entropy_finish(*stream, {.logits = logits.data() + begin,
                                          .targets = &target,
                                          .vocab_begin = begin,
                                          .rows = 1,
                                          .vocab = counts[p],
                                          .stats = r.stats.data(),
                                          .parts = static_cast<int>(counts.size()),
                                          .losses = r.losses.data(),
                                          .d_logits = r.gradient.data() + begin,
                                          .scale = 0.37f});
    }
    return r;
  }

  Result as_on_the_device(int warps) const {
    namespace device = cuda::logit_rows;
    Result r;
    std::int64_t begin = 0;
    for (const std::int64_t count : counts) {
      const OnlineSum part = sum_row(logits.data() + begin, count, warps);
      const bool held = target >= begin && target < begin + count;
      r.stats.insert(r.stats.end(), {part.max, part.sum, held ? logits[static_cast<std::size_t>(target)] : 0.0f});
      begin += count;
    }
    const int parts = static_cast<int>(counts.size());
    const OnlineSum whole = device::join(r.stats.data(), parts, 1);
    r.losses.push_back(device::loss_of(whole, device::target_logit(r.stats.data(), parts, 1)));
    for (std::size_t i = 0; i < logits.size(); ++i) {
      r.gradient.push_back(
          device::gradient_of(logits[i], whole, static_cast<int>(i) == target, 0.37f, 0.37f / whole.sum));
    }
    return r;
  }

  void compare() const {
    const Result cpu = on_cpu();
    for (const int warps : {2, 8}) {
      const Result device = as_on_the_device(warps);
      EXPECT_LE(distance(device.stats, cpu.stats), 1e-6);
      EXPECT_LE(distance(device.losses, cpu.losses), 1e-6);
      EXPECT_LE(distance(device.gradient, cpu.gradient), 3e-6);
    }
  }
};

TEST(OnlineSum, PartsOfWhichSomeAreEmpty) {
  for (const auto& counts : {std::vector<std::int64_t>{1, 0, 30, 9}, {0, 40}, {40, 0}, {0, 0, 0, 40}, {40}}) {
    for (const std::int32_t target : {0, 7, 39}) Row{random_values(40, 1, 4.0), target, counts}.compare();
  }
  const OnlineSum nothing = sum_row(nullptr, 0, 2);
  EXPECT_EQ(nothing.max, -infinity);
  EXPECT_EQ(nothing.sum, 0);
}

/// As GpuCrossEntropyParts.ExtremeLogits: half of the row masked, with and without the target; NaN; infinity.
TEST(OnlineSum, ExtremeLogits) {
  auto logits = random_values(3000, 3, 50.0);
  std::fill(logits.begin() + 1500, logits.end(), -infinity);
  for (const auto& counts : {std::vector<std::int64_t>{1500, 1500}, {3000}, {1500, 0, 1500}}) {
    for (const std::int32_t target : {100, 2999}) {
      Row{logits, target, counts}.compare();
      for (const float bad : {nan, infinity, 3e38f, -3e38f}) {
        for (const std::size_t at : {5u, 1499u, 1500u}) {
          auto changed = logits;
          changed[at] = bad;
          Row{changed, target, counts}.compare();
        }
      }
    }
  }
  EXPECT_EQ((Row{logits, 2999, {1500, 1500}}.as_on_the_device(8).losses), std::vector<float>{infinity});
  Row{std::vector<float>(3000, -infinity), 4, {1500, 1500}}.compare();
  Row{std::vector<float>(3000, 3e38f), 4, {1500, 1500}}.compare();
}

}  // namespace
}  // namespace octet
