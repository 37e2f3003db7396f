#include "kernels/cross_entropy.h"

#include "kernels/cpu/cpu_kernels.h"
#include "tests/gpu/distance.h"
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
Result<T> run_loss(const std::vector<float>& logits, const std::vector<std::int32_t>& targets, float scale,
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
Result<double> reference_loss(const std::vector<float>& logits, const std::vector<std::int32_t>& targets,
                              double scale) {
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
    const auto r = run_loss<T>(logits, targets, 0.25f);
    const auto expected = reference_loss(logits, targets, 0.25);
    for (std::size_t i = 0; i < r.losses.size(); ++i) EXPECT_NEAR(r.losses[i], expected.losses[i], 2e-6f);
    if (vocab > 1) {
      EXPECT_LT(relative_error(r.d_logits, expected.d_logits), storage_tolerance<T>()) << rows << " x " << vocab;
    } else {
      EXPECT_EQ(static_cast<float>(r.d_logits[0]), 0.0f);
    }
    EXPECT_TRUE(same_bits(run_loss<T>(logits, targets, 0.25f, false).losses, r.losses));
  }
}

TYPED_TEST(CrossEntropyTest, UncountedRowsAreZero) {
  using T = TypeParam;
  const auto r = run_loss<T>({1, 2, nan_f32, infinity_f32, 5, 6}, {-1, -100, 0}, 1.0f);
  EXPECT_EQ(r.losses[0], 0.0f);
  EXPECT_EQ(r.losses[1], 0.0f);
  EXPECT_GT(r.losses[2], 1.0f);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(static_cast<float>(r.d_logits[static_cast<std::size_t>(i)]), 0.0f);
}

TEST(CrossEntropyExact, UniformAndOneSidedLogits) {
  const auto uniform = run_loss({7, 7, 7, 7}, {2}, 8.0f);
  EXPECT_NEAR(uniform.losses[0], std::log(4.0f), 2e-7f);
  EXPECT_EQ(uniform.d_logits, (std::vector<float>{2, 2, -6, 2}));
  const auto sure = run_loss({1000, -1000, -infinity_f32, 0}, {0}, 1.0f);
  EXPECT_EQ(sure.losses[0], 0.0f);
  EXPECT_EQ(sure.d_logits, (std::vector<float>{0, 0, 0, 0}));
  const auto wrong = run_loss({1000, -1000, -infinity_f32, 0}, {1}, 1.0f);
  EXPECT_EQ(wrong.losses[0], 2000.0f);
  EXPECT_EQ(wrong.d_logits, (std::vector<float>{1, -1, 0, 0}));
}

TEST(CrossEntropyExact, NonFiniteLogitsGiveNonFiniteLoss) {
  const auto r = run_loss({1, nan_f32, 2, 1, infinity_f32, 2, 1, 2, 3}, {0, 0, 0}, 1.0f);
  EXPECT_TRUE(std::isnan(r.losses[0]));
  EXPECT_FALSE(std::isfinite(r.losses[1]));
  EXPECT_TRUE(std::isfinite(r.losses[2]));
  EXPECT_TRUE(std::isnan(r.d_logits[2]));
}

TEST(CrossEntropyExact, GradientInPlace) {
  auto logits = random_values(7 * 53, 1, 3.0);
  const auto targets = some_targets(7, 53);
  const auto apart = run_loss(logits, targets, 0.5f);
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
  expect_same_bits_for_any_threads([&] { return run_loss(logits, targets, 0.1f).losses; });
  expect_same_bits_for_any_threads([&] { return run_loss<bf16>(logits, targets, 0.1f).d_logits; });
}

/// The columns [begin, begin + count) of every row.
std::vector<float> part_of_vocab(const std::vector<float>& logits, std::int64_t vocab, std::int64_t begin,
                                 std::int64_t count) {
  std::vector<float> part;
  for (auto row = logits.begin(); row != logits.end(); row += vocab) {
    part.insert(part.end(), row + begin, row + begin + count);
  }
  return part;
}

/// The two halves over parts of `counts` columns; the gradients of the parts joined to rows again.
template <typename T = float>
Result<T> run_in_parts(const std::vector<float>& logits, const std::vector<std::int32_t>& targets, float scale,
                       const std::vector<std::int64_t>& counts, bool gradient = true) {
  const auto rows = static_cast<std::int64_t>(targets.size());
  const std::int64_t vocab = static_cast<std::int64_t>(logits.size()) / rows;
  const auto parts = static_cast<int>(counts.size());
  std::vector<float> stats(static_cast<std::size_t>(parts * 3 * rows), nan_f32);
  std::int64_t begin = 0;
  for (std::size_t p = 0; p < counts.size(); begin += counts[p++]) {
    const auto part = part_of_vocab(logits, vocab, begin, counts[p]);
    cpu::cross_entropy_stats(stream(), {.logits = part.data(),
                                        .targets = targets.data(),
                                        .vocab_begin = begin,
                                        .rows = rows,
                                        .vocab = counts[p],
                                        .stats = stats.data() + static_cast<std::int64_t>(p) * 3 * rows});
  }
  Result<T> r{{}, std::vector<T>(logits.size(), T(nan_f32))};
  begin = 0;
  for (const std::int64_t count : counts) {
    const auto part = part_of_vocab(logits, vocab, begin, count);
    std::vector<float> losses(targets.size(), nan_f32);
    std::vector<T> d(part.size(), T(nan_f32));
    cpu::cross_entropy_finish(stream(), {.logits = gradient ? part.data() : nullptr,
                                         .targets = targets.data(),
                                         .vocab_begin = begin,
                                         .rows = rows,
                                         .vocab = count,
                                         .stats = stats.data(),
                                         .parts = parts,
                                         .losses = losses.data(),
                                         .d_logits = gradient ? d.data() : nullptr,
                                         .d_dtype = dtype_of<T>::value,
                                         .scale = scale});
    if (begin > 0) {
      EXPECT_TRUE(same_bits(losses, r.losses)) << "other losses in the part from " << begin;
    }
    r.losses = losses;
    for (std::int64_t row = 0; row < rows; ++row) {
      std::copy_n(d.begin() + row * count, count, r.d_logits.begin() + row * vocab + begin);
    }
    begin += count;
  }
  EXPECT_EQ(begin, vocab);
  return r;
}

TYPED_TEST(CrossEntropyTest, OnePartGivesTheBitsOfTheWhole) {
  using T = TypeParam;
  constexpr std::int64_t shapes[][2] = {{1, 1}, {9, 37}, {6, 256}, {3, 32003}};
  for (const auto& [rows, vocab] : shapes) {
    const auto logits = random_values(rows * vocab, 1, 3.0);
    const auto targets = some_targets(rows, vocab);
    const auto whole = run_loss<T>(logits, targets, 0.25f), part = run_in_parts<T>(logits, targets, 0.25f, {vocab});
    EXPECT_TRUE(same_bits(part.losses, whole.losses)) << rows << " x " << vocab;
    EXPECT_TRUE(same_bits(part.d_logits, whole.d_logits)) << rows << " x " << vocab;
  }
}

TYPED_TEST(CrossEntropyTest, PartsAgreeWithDoubleReference) {
  using T = TypeParam;
  for (const auto& counts : {std::vector<std::int64_t>{20, 17}, {1, 0, 30, 6}, {9, 9, 9, 9, 1}, {0, 37}, {37, 0}}) {
    const auto logits = random_values(11 * 37, 1, 3.0);
    const auto targets = some_targets(11, 37);
    const auto r = run_in_parts<T>(logits, targets, 0.25f, counts);
    const auto expected = reference_loss(logits, targets, 0.25);
    for (std::size_t i = 0; i < r.losses.size(); ++i) EXPECT_NEAR(r.losses[i], expected.losses[i], 2e-6f);
    EXPECT_LT(relative_error(r.d_logits, expected.d_logits), storage_tolerance<T>()) << counts.size() << " parts";
    EXPECT_TRUE(same_bits(run_in_parts<T>(logits, targets, 0.25f, counts, false).losses, r.losses));
  }
}

TEST(CrossEntropyParts, ExtremeLogits) {
  const std::vector<float> masked = {1000, -infinity_f32, -infinity_f32, -infinity_f32, 998, 1000};
  const auto r = run_in_parts(masked, {4}, 1.0f, {1, 3, 2});  // the middle part is -inf throughout
  const auto whole = run_loss(masked, {4}, 1.0f);
  EXPECT_NEAR(r.losses[0], whole.losses[0], 1e-6f);
  EXPECT_LT(relative_error(r.d_logits, whole.d_logits), 1e-6);
  const auto wrong = run_in_parts({1000, -1000, -infinity_f32, 0}, {1}, 1.0f, {1, 3});
  EXPECT_EQ(wrong.losses[0], 2000.0f);
  EXPECT_EQ(wrong.d_logits, (std::vector<float>{1, -1, 0, 0}));
}

/// A vocabulary smaller than the number of parts: most have nothing to add, whatever the logits of the others.
TEST(CrossEntropyParts, EmptyPartsAreExact) {
  const std::vector<float> rows[] = {{1, -2}, {3e38f, -3e38f}, {-3e38f, -3e38f}, {-infinity_f32, 5}, {0, infinity_f32}};
  for (const std::vector<float>& logits : rows) {
    const auto whole = run_loss(logits, {1}, 0.5f);
    for (const auto& [first, second] : {std::pair<std::size_t, std::size_t>{0, 1}, {1, 3}, {2, 3}}) {
      std::vector<std::int64_t> counts(4);
      counts[first] = counts[second] = 1;
      const auto r = run_in_parts(logits, {1}, 0.5f, counts);
      EXPECT_EQ(gpu_test::distance(r.losses, whole.losses), 0) << logits[0] << " " << logits[1];
      EXPECT_LT(gpu_test::distance(r.d_logits, whole.d_logits), 1e-7) << logits[0] << " " << logits[1];
    }
  }
}

std::vector<float> stats_of(const std::vector<float>& part) {
  const std::int32_t target = 0;
  std::vector<float> stats(3, nan_f32);
  cpu::cross_entropy_stats(stream(), {.logits = part.data(),
                                      .targets = &target,
                                      .vocab_begin = 0,
                                      .rows = 1,
                                      .vocab = static_cast<std::int64_t>(part.size()),
                                      .stats = stats.data()});
  return stats;
}

/// As on a GPU, wherever the NaN stands.
TEST(CrossEntropyParts, StatsOfNothingAndOfNaN) {
  EXPECT_EQ(stats_of({}), (std::vector<float>{-infinity_f32, 0, 0}));
  EXPECT_EQ(stats_of({-infinity_f32, -infinity_f32}), (std::vector<float>{-infinity_f32, 0, -infinity_f32}));
  for (const std::size_t at : {0u, 1u, 7u, 32u, 63u, 99u}) {
    std::vector<float> x(100);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = -static_cast<float>(i);
    x[at] = nan_f32;
    EXPECT_EQ(stats_of(x)[0], at == 0 ? -1 : 0) << at;
    EXPECT_TRUE(std::isnan(stats_of(x)[1])) << at;
  }
  EXPECT_EQ(stats_of({nan_f32})[0], -infinity_f32);
}

/// The target among columns that are masked: its loss is infinite, and no gradient is.
TEST(CrossEntropyParts, ATargetInAMaskedPart) {
  const auto r = run_in_parts({1, 1, -infinity_f32, -infinity_f32}, {3}, 0.5f, {2, 2});
  EXPECT_EQ(r.losses[0], infinity_f32);
  EXPECT_EQ(r.d_logits, (std::vector<float>{0.25f, 0.25f, 0, -0.5f}));
}

TEST(CrossEntropyParts, UncountedRowsAreZero) {
  const auto r = run_in_parts({1, 2, nan_f32, infinity_f32, 5, 6}, {-1, -100, 0}, 1.0f, {1, 1});
  EXPECT_EQ(r.losses[0], 0.0f);
  EXPECT_EQ(r.losses[1], 0.0f);
  EXPECT_GT(r.losses[2], 1.0f);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(r.d_logits[i], 0.0f);
}

/// As of the whole row: NaN or infinity in any part is in every part's loss and gradient.
TEST(CrossEntropyParts, NonFiniteLogitsGiveNonFiniteLoss) {
  for (const float bad : {nan_f32, infinity_f32}) {
    for (const std::size_t at : {0u, 2u, 3u}) {
      std::vector<float> logits = {1, 2, 3, 4, 1, 2, 3, 4};
      logits[at] = bad;
      const auto r = run_in_parts(logits, {1, 1}, 1.0f, {2, 2}), whole = run_loss(logits, {1, 1}, 1.0f);
      EXPECT_FALSE(std::isfinite(r.losses[0]));
      EXPECT_EQ(std::isnan(r.losses[0]), std::isnan(whole.losses[0]));
      for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(std::isnan(r.d_logits[i]), std::isnan(whole.d_logits[i])) << i;
      EXPECT_TRUE(std::isfinite(r.losses[1]));
    }
  }
  const std::vector<float> nothing(4, -infinity_f32);
  EXPECT_TRUE(std::isnan(run_loss(nothing, {1}, 1.0f).losses[0]));
  EXPECT_TRUE(std::isnan(run_in_parts(nothing, {1}, 1.0f, {2, 2}).losses[0]));
  EXPECT_TRUE(std::isnan(run_in_parts(nothing, {1}, 1.0f, {2, 2}).d_logits[0]));
}

TEST(CrossEntropyParts, GradientInPlaceAndSameBitsForAnyThreads) {
  const auto logits = random_values(29 * 307, 1, 3.0);
  const auto targets = some_targets(29, 307);
  expect_same_bits_for_any_threads([&] { return run_in_parts(logits, targets, 0.1f, {100, 207}).d_logits; });
  std::vector<float> stats(29 * 3), losses(29), d = logits;
  cpu::cross_entropy_stats(
      stream(), {.logits = d.data(), .targets = targets.data(), .rows = 29, .vocab = 307, .stats = stats.data()});
  EXPECT_TRUE(same_bits(d, logits));
  cpu::cross_entropy_finish(stream(), {.logits = d.data(),
                                       .targets = targets.data(),
                                       .rows = 29,
                                       .vocab = 307,
                                       .stats = stats.data(),
                                       .losses = losses.data(),
                                       .d_logits = d.data(),
                                       .scale = 0.1f});
  EXPECT_TRUE(same_bits(d, run_loss(logits, targets, 0.1f).d_logits));
}

TEST(CrossEntropyGradient, AgreesWithFiniteDifferences) {
  auto logits = random_values(4 * 11, 1, 2.0);
  const std::vector<std::int32_t> targets = {3, -1, 0, 10};
  const float scale = 0.5f;
  const auto analytic = run_loss(logits, targets, scale).d_logits;
  const auto numeric = central_differences(logits, 0x1p-6f, [&] {
    return weighted_sum(run_loss(logits, targets, scale, false).losses, std::vector<float>(targets.size(), scale));
  });
  EXPECT_LT(relative_error(analytic, numeric), 5e-4);
}

}  // namespace
}  // namespace octet
