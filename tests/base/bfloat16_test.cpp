#include "src/base/bfloat16.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "src/base/random.h"

namespace octet {
namespace {

/// Value of a code by the definition of the format: 8 exponent bits of bias 127, 7 fraction bits.
double value_of(std::uint32_t code) {
  const int exponent = static_cast<int>(code >> 7 & 0xFF), fraction = static_cast<int>(code & 0x7F);
  const double sign = code & 0x8000 ? -1.0 : 1.0;
  if (exponent == 0xFF) return fraction ? std::numeric_limits<double>::quiet_NaN() : sign * INFINITY;
  return sign * (exponent == 0 ? std::ldexp(fraction, -133) : std::ldexp(128 + fraction, exponent - 134));
}

/// Nearest code of a finite value by comparing distances; the cell above the largest finite code belongs to infinity.
std::uint32_t nearest_code(float x) {
  const double a = std::abs(static_cast<double>(x));
  std::uint32_t low = 0, high = 0x7F80;  // value(low) <= a < value(high)
  const auto value = [](std::uint32_t c) { return c == 0x7F80 ? 0x1p128 : value_of(c); };
  while (high - low > 1) {
    const std::uint32_t middle = (low + high) / 2;
    (value(middle) <= a ? low : high) = middle;
  }
  const double below = a - value(low), above = value(high) - a;
  const std::uint32_t code = below < above || (below == above && low % 2 == 0) ? low : high;
  return code | (std::signbit(x) ? 0x8000u : 0u);
}

void expect_nearest(float x) {
  ASSERT_EQ(bf16::encode(x), nearest_code(x)) << std::hexfloat << x;
}

TEST(Bfloat16, EveryCodeDecodesAndEncodesBack) {
  for (std::uint32_t code = 0; code < 0x10000; ++code) {
    const bf16 b = bf16::from_bits(static_cast<std::uint16_t>(code));
    const double expected = value_of(code), got = static_cast<double>(static_cast<float>(b));
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(got)) << code;
      ASSERT_EQ(bf16(b).bits, code);
      ASSERT_EQ(bf16::encode(static_cast<float>(b)), code | 0x40u) << "NaN stays NaN, quiet, with sign and payload";
    } else {
      ASSERT_EQ(got, expected) << code;
      ASSERT_EQ(std::signbit(got), std::signbit(expected)) << code;
      ASSERT_EQ(bf16::encode(static_cast<float>(b)), code);
    }
  }
}

TEST(Bfloat16, EveryMidpointAndItsNeighbours) {
  for (std::uint32_t code = 0; code < 0x7F80; ++code) {
    for (const std::uint32_t sign : {0u, 0x80000000u}) {
      const std::uint32_t middle = sign | code << 16 | 0x8000;
      for (const std::uint32_t bits : {middle - 1, middle, middle + 1}) expect_nearest(std::bit_cast<float>(bits));
    }
  }
}

TEST(Bfloat16, RandomFloats) {
  for (std::uint64_t i = 0; i < 200000; ++i) {
    const float x = std::bit_cast<float>(static_cast<std::uint32_t>(random_bits({.seed = 1}, i)));
    if (std::isfinite(x)) expect_nearest(x);
  }
}

TEST(Bfloat16, OverflowSubnormalsAndNaN) {
  EXPECT_EQ(bf16::encode(std::numeric_limits<float>::max()), 0x7F80);
  EXPECT_EQ(bf16::encode(-std::numeric_limits<float>::max()), 0xFF80);
  EXPECT_EQ(bf16::encode(0x1.fep127f), 0x7F7F);
  EXPECT_EQ(bf16::encode(std::numeric_limits<float>::infinity()), 0x7F80);
  EXPECT_EQ(bf16::encode(std::numeric_limits<float>::denorm_min()), 0);
  EXPECT_EQ(bf16::encode(-0.0f), 0x8000);
  EXPECT_EQ(bf16::encode(0x1p-133f), 1);
  EXPECT_EQ(bf16::encode(std::bit_cast<float>(0x7F800001u)), 0x7FC0) << "payload only in the lost bits";
  EXPECT_EQ(bf16::encode(std::bit_cast<float>(0xFFFFFFFFu)), 0xFFFF) << "must not round up into zero";
  static_assert(static_cast<float>(bf16(1.0f + 0x1p-8f)) == 1.0f &&
                static_cast<float>(bf16(1.0f + 0x3p-8f)) == 1.015625f);
}

}  // namespace
}  // namespace octet
