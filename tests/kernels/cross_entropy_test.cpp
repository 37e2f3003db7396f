#include "kernels/cross_entropy.h"

#include "kernels/cpu/cpu_kernels.h"
#include "tests/kernels/kernel_test.h"

namespace octet {
namespace {

using namespace test;

template <typename T>
struct Result {
  std::vector<float> losses;
  std::vector<T> d_logits;
};

template <typename T = float>
Result<T> run(const std::vector<float>& logits, const std::vector<std::int32_t>& targets, float scale,
              bool gradient = true) {
  Result<T> r{std::vector<float>(targets.size(), nan_f32), std::vector<T>(logits.size(), T(nan_f32))};
  const auto rows = static_cast<std::int64_t>(targets.size());
  cpu::cross_entropy(stream(), {.logits = logits.data(),
                                .targets = targets.data(),
                                .losses = r.losses.data(),
                                .d_logits = gradient ? r.d_logits.data() : nullptr,
                                .d_dtype = dtype_of<T>::value,
                                .rows = rows,
                                .vocab = static_cast<std::int64_t>(logits.size()) / rows,
                                .scale = scale});
  return r;
}

std::vector<std::int32_t> some_targets(std::int64_t rows, std::int64_t vocab) {
  std::vector<std::int32_t> targets(static_cast<std::size_t>(rows));
  for (std::size_t i = 0; i < targets.size(); ++i) {
    targets[i] =
        i % 5 == 3 ? -1 : static_cast<std::int32_t>(random_bits({.seed = 5}, i) % static_cast<std::uint64_t>(vocab));
  }
  return targets;
}

/// Losses and gradients in double.
Result<double> reference(const std::vector<float>& logits, const std::vector<std::int32_t>& targets, double scale) {
  const std::size_t vocab = logits.size() / targets.size();
  Result<double> r{{}, std::vector<double>(logits.size(), 0.0)};
  for (std::size_t row = 0; row < targets.size(); ++row) {
    const float* x = logits.data() + row * vocab;
    double max = -1e300, sum = 0;
    for (std::size_t i = 0; i < vocab; ++i) max = std::max(max, static_cast<double>(x[i]));
    for (std::size_t i = 0; i < vocab; ++i) sum += std::exp(static_cast<double>(x[i]) - max);
    if (targets[row] < 0) {
      r.losses.push_back(0.0f);
      continue;
    }
    const auto target = static_cast<std::size_t>(targets[row]);
    r.losses.push_back(static_cast<float>(max + std::log(sum) - static_cast<double>(x[target])));
    for (std::size_t i = 0; i < vocab; ++i) {
      const double p = std::exp(static_cast<double>(x[i]) - max) / sum;
      r.d_logits[row * vocab + i] = (p - (i == target ? 1.0 : 0.0)) * scale;
    }
  }
  return r;
}

template <typename T>
class CrossEntropyTest : public testing::Test {};
TYPED_TEST_SUITE(CrossEntropyTest, Storages);

TYPED_TEST(CrossEntropyTest, AgreesWithDoubleReference) {
  using T = TypeParam;
  constexpr std::int64_t shapes[][2] = {{1, 1}, {1, 5}, {9, 37}, {6, 256}, {4, 1001}, {3, 32003}};
  for (const auto& [rows, vocab] : shapes) {
    const auto logits = random_values(rows * vocab, 1, 3.0);
    const auto targets = some_targets(rows, vocab);
    const auto r = run<T>(logits, targets, 0.25f);
    const auto expected = reference(logits, targets, 0.25);
    for (std::size_t i = 0; i < r.losses.size(); ++i) EXPECT_NEAR(r.losses[i], expected.losses[i], 2e-6f);
    if (vocab > 1) {
      EXPECT_LT(relative_error(r.d_logits, expected.d_logits), storage_tolerance<T>()) << rows << " x " << vocab;
    } else {
      EXPECT_EQ(static_cast<float>(r.d_logits[0]), 0.0f);
    }
    EXPECT_TRUE(same_bits(run<T>(logits, targets, 0.25f, false).losses, r.losses));
  }
}

TYPED_TEST(CrossEntropyTest, UncountedRowsAreZero) {
  using T = TypeParam;
  const auto r = run<T>({1, 2, nan_f32, infinity_f32, 5, 6}, {-1, -100, 0}, 1.0f);
  EXPECT_EQ(r.losses[0], 0.0f);
  EXPECT_EQ(r.losses[1], 0.0f);
  EXPECT_GT(r.losses[2], 1.0f);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(static_cast<float>(r.d_logits[static_cast<std::size_t>(i)]), 0.0f);
}

TEST(CrossEntropyExact, UniformAndOneSidedLogits) {
  const auto uniform = run({7, 7, 7, 7}, {2}, 8.0f);
  EXPECT_NEAR(uniform.losses[0], std::log(4.0f), 2e-7f);
  EXPECT_EQ(uniform.d_logits, (std::vector<float>{2, 2, -6, 2}));
  const auto sure = run({1000, -1000, -infinity_f32, 0}, {0}, 1.0f);
  EXPECT_EQ(sure.losses[0], 0.0f);
  EXPECT_EQ(sure.d_logits, (std::vector<float>{0, 0, 0, 0}));
  const auto wrong = run({1000, -1000, -infinity_f32, 0}, {1}, 1.0f);
  EXPECT_EQ(wrong.losses[0], 2000.0f);
  EXPECT_EQ(wrong.d_logits, (std::vector<float>{1, -1, 0, 0}));
}

TEST(CrossEntropyExact, NonFiniteLogitsGiveNonFiniteLoss) {
  const auto r = run({1, nan_f32, 2, 1, infinity_f32, 2, 1, 2, 3}, {0, 0, 0}, 1.0f);
  EXPECT_TRUE(std::isnan(r.losses[0]));
  EXPECT_FALSE(std::isfinite(r.losses[1]));
  EXPECT_TRUE(std::isfinite(r.losses[2]));
  EXPECT_TRUE(std::isnan(r.d_logits[2]));
}

TEST(CrossEntropyExact, GradientInPlace) {
  auto logits = random_values(7 * 53, 1, 3.0);
  const auto targets = some_targets(7, 53);
  const auto apart = run(logits, targets, 0.5f);
  std::vector<float> losses(7);
  cpu::cross_entropy(stream(), {.logits = logits.data(),
                                .targets = targets.data(),
                                .losses = losses.data(),
                                .d_logits = logits.data(),
                                .d_dtype = DType::f32,
                                .rows = 7,
                                .vocab = 53,
                                .scale = 0.5f});
  EXPECT_TRUE(same_bits(losses, apart.losses));
  EXPECT_TRUE(same_bits(logits, apart.d_logits));
}

TEST(CrossEntropyExact, SameBitsForAnyThreads) {
  const auto logits = random_values(29 * 307, 1, 3.0);
  const auto targets = some_targets(29, 307);
  expect_same_bits_for_any_threads([&] { return run(logits, targets, 0.1f).losses; });
  expect_same_bits_for_any_threads([&] { return run<bf16>(logits, targets, 0.1f).d_logits; });
}

TEST(CrossEntropyGradient, AgreesWithFiniteDifferences) {
  auto logits = random_values(4 * 11, 1, 2.0);
  const std::vector<std::int32_t> targets = {3, -1, 0, 10};
  const float scale = 0.5f;
  const auto analytic = run(logits, targets, scale).d_logits;
  const auto numeric = central_differences(logits, 0x1p-6f, [&] {
    return weighted_sum(run(logits, targets, scale, false).losses, std::vector<float>(targets.size(), scale));
  });
  EXPECT_LT(relative_error(analytic, numeric), 5e-4);
}

}  // namespace
}  // namespace octet
