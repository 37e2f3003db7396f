#include "src/base/float8.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "src/base/random.h"

namespace octet {
namespace {

// The tables of the OCP 8-bit Floating Point Specification (OFP8), revision 1.0, written as numbers.
struct E4m3Spec {
  using type = e4m3;
  static constexpr int fraction_bits = 3, bias = 7, largest_code = 0x7E;
  static constexpr double largest = 448, smallest_normal = 0x1p-6, smallest = 0x1p-9;
  static bool is_nan(int code) { return (code & 0x7F) == 0x7F; }
  static bool is_infinity(int) { return false; }
};
struct E5m2Spec {
  using type = e5m2;
  static constexpr int fraction_bits = 2, bias = 15, largest_code = 0x7B;
  static constexpr double largest = 57344, smallest_normal = 0x1p-14, smallest = 0x1p-16;
  static bool is_nan(int code) { return (code & 0x7F) > 0x7C; }
  static bool is_infinity(int code) { return (code & 0x7F) == 0x7C; }
};

/// Value of a finite code by the definition of the format.
template <typename Spec>
double value_of(int code) {
  const int magnitude = code & 0x7F, fraction_values = 1 << Spec::fraction_bits;
  const int exponent = magnitude / fraction_values, fraction = magnitude % fraction_values;
  const int step = std::max(exponent, 1) - Spec::bias - Spec::fraction_bits;
  const double value = std::ldexp(exponent == 0 ? fraction : fraction_values + fraction, step);
  return code & 0x80 ? -value : value;
}

/// Nearest finite code by trying all of them; ties go to the even code, everything beyond the largest saturates.
template <typename Spec>
int nearest_code(float x) {
  const double a = std::abs(static_cast<double>(x));
  int best = 0;
  for (int code = 1; code <= Spec::largest_code; ++code) {
    const double now = std::abs(value_of<Spec>(code) - a), before = std::abs(value_of<Spec>(best) - a);
    if (now < before || (now == before && code % 2 == 0)) best = code;
  }
  if (a >= Spec::largest) best = Spec::largest_code;
  return best | (std::signbit(x) ? 0x80 : 0);
}

template <typename Spec>
class Float8 : public testing::Test {
 public:
  static void expect_nearest(float x) {
    for (const float signed_x : {x, -x}) {
      ASSERT_EQ(static_cast<int>(Spec::type::encode(signed_x)), nearest_code<Spec>(signed_x))
          << std::hexfloat << signed_x;
    }
  }
};
using Specs = testing::Types<E4m3Spec, E5m2Spec>;
TYPED_TEST_SUITE(Float8, Specs);

TYPED_TEST(Float8, ReferenceHasTheLimitsOfTheSpecification) {
  EXPECT_EQ(value_of<TypeParam>(TypeParam::largest_code), TypeParam::largest);
  EXPECT_EQ(value_of<TypeParam>(1), TypeParam::smallest);
  EXPECT_EQ(value_of<TypeParam>(1 << TypeParam::fraction_bits), TypeParam::smallest_normal);
  EXPECT_EQ(static_cast<double>(TypeParam::type::max), TypeParam::largest);
}

TYPED_TEST(Float8, EveryCodeDecodesAndEncodesBack) {
  for (int code = 0; code < 256; ++code) {
    const float got = TypeParam::type::from_bits(static_cast<std::uint8_t>(code));
    ASSERT_EQ(std::signbit(got), code >= 0x80) << code;
    if (TypeParam::is_nan(code)) {
      ASSERT_TRUE(std::isnan(got)) << code;
      ASSERT_EQ(TypeParam::type::encode(got), 0x7F | (code & 0x80)) << code;
    } else if (TypeParam::is_infinity(code)) {
      ASSERT_TRUE(std::isinf(got)) << code;
    } else {
      ASSERT_EQ(static_cast<double>(got), value_of<TypeParam>(code)) << code;
      ASSERT_EQ(TypeParam::type::encode(got), code);
    }
  }
}

TYPED_TEST(Float8, EveryMidpointAndItsNeighbours) {
  for (int code = 0; code < TypeParam::largest_code; ++code) {
    const double low = value_of<TypeParam>(code), high = value_of<TypeParam>(code + 1);
    const float middle = static_cast<float>((low + high) / 2);
    ASSERT_EQ(static_cast<double>(middle), (low + high) / 2);
    for (const float centre : {static_cast<float>(low), middle, static_cast<float>(high)}) {
      this->expect_nearest(std::nextafter(centre, 0.0f));
      this->expect_nearest(centre);
      this->expect_nearest(std::nextafter(centre, 1e30f));
    }
    EXPECT_EQ(TypeParam::type::encode(middle) % 2, 0) << code;
  }
}

TYPED_TEST(Float8, RandomFloats) {
  for (std::uint64_t i = 0; i < 20000; ++i) {
    const auto bits = static_cast<std::uint32_t>(random_bits({.seed = 2}, i));
    const float any = std::bit_cast<float>(bits & 0x7FFFFFFFu);
    if (std::isfinite(any)) this->expect_nearest(any);
    // Exponents from below the smallest subnormal to above the largest value.
    this->expect_nearest(std::ldexp(1.0f + static_cast<float>(bits >> 9) * 0x1p-23f, static_cast<int>(bits % 40) - 20));
  }
}

TYPED_TEST(Float8, SaturatesAndKeepsSigns) {
  const int largest = TypeParam::largest_code;
  const float max = TypeParam::type::max, step = max - static_cast<float>(value_of<TypeParam>(largest - 1));
  for (const float x : {max, std::nextafter(max, 1e30f), max + step / 2, max + step, 2 * max, 1e30f,
                        std::numeric_limits<float>::max(), std::numeric_limits<float>::infinity()}) {
    EXPECT_EQ(TypeParam::type::encode(x), largest) << x;
    EXPECT_EQ(TypeParam::type::encode(-x), largest | 0x80) << x;
  }
  EXPECT_EQ(TypeParam::type::encode(0.0f), 0);
  EXPECT_EQ(TypeParam::type::encode(-0.0f), 0x80);
  EXPECT_EQ(TypeParam::type::encode(-std::numeric_limits<float>::denorm_min()), 0x80);
  for (const std::uint32_t nan : {0x7FC00000u, 0x7F800001u, 0x7FFFFFFFu}) {
    EXPECT_EQ(TypeParam::type::encode(std::bit_cast<float>(nan)), 0x7F);
    EXPECT_EQ(TypeParam::type::encode(std::bit_cast<float>(nan | 0x80000000u)), 0xFF);
  }
}

static_assert(e4m3(448.0f).bits == 0x7E && static_cast<float>(e4m3::from_bits(1)) == 0x1p-9f);
static_assert(e5m2(57344.0f).bits == 0x7B && static_cast<float>(e5m2::from_bits(1)) == 0x1p-16f);

}  // namespace
}  // namespace octet
