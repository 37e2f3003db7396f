#include "kernels/cpu/parts/exp.h"

#include <bit>

#include "tests/kernels/kernel_test.h"

namespace octet {
namespace {

using namespace test;

TEST(Exp, RelativeErrorOverTheNormalRange) {
  double worst = 0;
  const auto check = [&](float x) {
    const double expected = std::exp(static_cast<double>(x));
    worst = std::max(worst, std::abs(static_cast<double>(cpu::exp_f32(x)) - expected) / expected);
  };
  for (const float limit : {-87.33654f, 88.72283f}) {  // every 997th float on either side of zero
    const std::uint32_t end = std::bit_cast<std::uint32_t>(std::abs(limit));
    for (std::uint32_t bits = 0; bits <= end; bits += 997) check(std::copysign(std::bit_cast<float>(bits), limit));
  }
  for (int n = -126; n <= 127; ++n) {  // where the integer part changes, and around it
    float x = static_cast<float>((n + 0.5) * std::log(2.0));
    for (int i = 0; i < 8; ++i, x = std::nextafter(x, 100.0f)) check(x);
  }
  EXPECT_LT(worst, 1e-7);
}

TEST(Exp, ExactAndBeyondTheRange) {
  EXPECT_EQ(cpu::exp_f32(0.0f), 1.0f);
  EXPECT_EQ(cpu::exp_f32(-0.0f), 1.0f);
  EXPECT_EQ(cpu::exp_f32(1e-30f), 1.0f);
  const float lowest = -0x1.5d589ep6f, highest = 0x1.62e42ep6f;
  EXPECT_GE(cpu::exp_f32(lowest), std::numeric_limits<float>::min());
  EXPECT_EQ(cpu::exp_f32(std::nextafter(lowest, -100.0f)), 0.0f);
  EXPECT_LT(cpu::exp_f32(highest), infinity_f32);
  EXPECT_EQ(cpu::exp_f32(std::nextafter(highest, 100.0f)), infinity_f32);
  for (const float x : {100.0f, 1e10f, std::numeric_limits<float>::max(), infinity_f32}) {
    EXPECT_EQ(cpu::exp_f32(x), infinity_f32) << x;
    EXPECT_EQ(cpu::exp_f32(-x), 0.0f) << x;
    EXPECT_FALSE(std::signbit(cpu::exp_f32(-x))) << x;
  }
  EXPECT_TRUE(std::isnan(cpu::exp_f32(nan_f32)));
  EXPECT_TRUE(std::isnan(cpu::exp_f32(-nan_f32)));
}

TEST(Exp, VectorisedLoopGivesTheBitsOfSingleCalls) {
  const auto x = random_values(1003, 1, 30.0);
  std::vector<float> y(x.size());
#pragma omp simd
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = cpu::exp_f32(x[i]);
  for (std::size_t i = 0; i < x.size(); ++i) {
    volatile float one = x[i];
    ASSERT_EQ(std::bit_cast<std::uint32_t>(y[i]), std::bit_cast<std::uint32_t>(cpu::exp_f32(one)));
  }
}

}  // namespace
}  // namespace octet
