#include "kernels/reduce.h"

#include "kernels/cpu/cpu_kernels.h"
#include "tests/kernels/kernel_test.h"

namespace octet {
namespace {

using namespace test;

constexpr std::int64_t sizes[] = {0, 1, 31, 32, 1000, 65536, 65537, 300007};

float sum_of(const std::vector<float>& x) {
  float out = nan_f32;
  cpu::sum(stream(), {.x = x.data(), .n = static_cast<std::int64_t>(x.size()), .out = &out});
  return out;
}

float squares_of(const std::vector<float>& x, std::uint32_t* non_finite = nullptr) {
  float out = nan_f32;
  cpu::sum_of_squares(stream(),
                      {.x = x.data(), .n = static_cast<std::int64_t>(x.size()), .out = &out, .non_finite = non_finite});
  return out;
}

TEST(Reduce, SumsAgreeWithLongDouble) {
  for (const std::int64_t n : sizes) {
    const auto x = random_values(n, 1);
    long double sum = 0, squares = 0;
    for (const float v : x) {
      sum += static_cast<long double>(v);
      squares += static_cast<long double>(v) * static_cast<long double>(v);
    }
    std::uint32_t non_finite = 4;
    EXPECT_FLOAT_EQ(sum_of(x), static_cast<float>(sum)) << n;
    EXPECT_FLOAT_EQ(squares_of(x, &non_finite), static_cast<float>(squares)) << n;
    EXPECT_EQ(non_finite, 4u);
  }
}

TEST(Reduce, SquaresOfBf16AreThoseOfTheSameValuesInFp32) {
  for (const std::int64_t n : sizes) {
    const auto narrow = random_values<bf16>(n, 1);
    const std::vector<float> wide(narrow.begin(), narrow.end());
    float out = nan_f32;
    cpu::sum_of_squares(stream(), {.x = narrow.data(), .dtype = DType::bf16, .n = n, .out = &out});
    EXPECT_EQ(out, squares_of(wide)) << n;
  }
  std::vector<bf16> bad(70000, bf16(1.0f));
  bad[0] = bf16(nan_f32);
  bad[69999] = bf16(infinity_f32);
  float out = 0;
  std::uint32_t non_finite = 4;
  cpu::sum_of_squares(stream(),
                      {.x = bad.data(), .dtype = DType::bf16, .n = 70000, .out = &out, .non_finite = &non_finite});
  EXPECT_FALSE(std::isfinite(out));
  EXPECT_EQ(non_finite, 6u);
  EXPECT_EQ((SumOfSquares{.dtype = DType::bf16, .n = 10}).bytes_moved(), 20);
}

TEST(Reduce, SumsInDouble) {
  std::vector<float> x(100000, 1.0f);  // in fp32 the small ones would vanish beside 2^30
  x[7] = 0x1p30f;
  EXPECT_EQ(sum_of(x), static_cast<float>(0x1p30 + 99999.0));
  EXPECT_FLOAT_EQ(squares_of({0x1p-80f, 0x1p-80f}), 0.0f);
  EXPECT_EQ(squares_of({3, 4}), 25.0f);
}

TEST(Reduce, SumOfSquaresCountsNonFinite) {
  auto x = random_values(100001, 1);
  x[0] = nan_f32;
  x[50000] = infinity_f32;
  x[100000] = -infinity_f32;
  std::uint32_t non_finite = 4;
  EXPECT_FALSE(std::isfinite(squares_of(x, &non_finite)));
  EXPECT_EQ(non_finite, 7u);
  EXPECT_FALSE(std::isfinite(squares_of(x)));
  non_finite = 0;
  EXPECT_EQ(squares_of({0x1p100f}, &non_finite), infinity_f32);  // overflow of the sum alone
  EXPECT_EQ(non_finite, 0u);
}

TEST(Reduce, SameBitsForAnyThreads) {
  const auto x = random_values(300007, 1);
  expect_same_bits_for_any_threads([&] { return std::vector<float>{sum_of(x), squares_of(x)}; });
}

TEST(Reduce, Accumulate) {
  for (const std::int64_t n : {0, 1, 33, 5001}) {
    const auto x = random_values(n, 1), before = random_values(n, 2);
    auto y = before;
    cpu::accumulate(stream(), {.x = x.data(), .y = y.data(), .n = n});
    for (std::size_t i = 0; i < y.size(); ++i) ASSERT_EQ(y[i], before[i] + x[i]);
  }
}

struct Clip {
  float norm = -1, factor = -1;
  std::uint32_t skip = 0;
};

Clip clip(float sum_of_squares, float max_norm, std::uint32_t skip = 0) {
  Clip c{.skip = skip};
  cpu::clip_factor(
      stream(),
      {.sum_of_squares = &sum_of_squares, .max_norm = max_norm, .norm = &c.norm, .factor = &c.factor, .skip = &c.skip});
  return c;
}

TEST(Reduce, ClipFactor) {
  const Clip above = clip(16.0f, 1.0f);
  EXPECT_EQ(above.norm, 4.0f);
  EXPECT_EQ(above.factor, 1.0f / (4.0f + 1e-6f));
  EXPECT_EQ(above.skip, 0u);
  EXPECT_EQ(clip(0.25f, 1.0f).factor, 1.0f);
  EXPECT_EQ(clip(0.0f, 1.0f).factor, 1.0f);
  const Clip off = clip(1e10f, 0.0f);  // 0 turns clipping off; the norm is still reported
  EXPECT_EQ(off.factor, 1.0f);
  EXPECT_EQ(off.norm, 1e5f);
}

TEST(Reduce, ClipFactorSetsSkipForGood) {
  for (const float bad : {nan_f32, infinity_f32}) {
    EXPECT_EQ(clip(bad, 1.0f).skip, 1u);
    EXPECT_EQ(clip(bad, 0.0f).skip, 1u);
  }
  EXPECT_EQ(clip(1.0f, 1.0f, 1).skip, 1u);
}

}  // namespace
}  // namespace octet
