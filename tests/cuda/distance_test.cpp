// How the tests of the kernels compare a GPU's numbers with the CPU's.
#include "tests/gpu/distance.h"

#include <gtest/gtest.h>

#include <limits>

#include "src/base/bfloat16.h"

namespace octet::gpu_test {
namespace {

using Values = std::vector<float>;

constexpr float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();

TEST(Distance, OfFiniteValuesIsThatOfNorms) {
  EXPECT_EQ(distance(Values{3, 4}, Values{3, 4}), 0);
  EXPECT_DOUBLE_EQ(distance(Values{3, 5}, Values{3, 4}), 0.2);
  EXPECT_EQ(distance(Values{3, 4}, Values{0, 0}), 5);
  EXPECT_EQ(distance(Values{}, Values{}), 0);
  EXPECT_EQ(distance(Values{1}, Values{}), HUGE_VAL);
}

/// What an empty part's maximum and a masked target's loss are, on both devices.
TEST(Distance, TheSameInfinityOnBothIsNone) {
  EXPECT_EQ(distance(Values{-infinity, infinity, nan, 2}, Values{-infinity, infinity, nan, 2}), 0);
  EXPECT_EQ(distance(Values{-infinity}, Values{-infinity}), 0);
  EXPECT_DOUBLE_EQ(distance(Values{-infinity, 3, 5}, Values{-infinity, 3, 4}), 0.2) << "an infinity is in no norm";
  EXPECT_EQ(distance(std::vector<bf16>{bf16(infinity)}, {bf16(infinity)}), 0);
}

TEST(Distance, WhatIsFiniteOnOneAloneFailsEveryTolerance) {
  for (const auto& [a, b] : {std::pair{infinity, 1.0f}, {infinity, -infinity}, {nan, 1.0f}, {nan, infinity}}) {
    EXPECT_EQ(distance(Values{a, 1}, Values{b, 1}), HUGE_VAL) << a << " and " << b;
    EXPECT_EQ(distance(Values{b, 1}, Values{a, 1}), HUGE_VAL) << b << " and " << a;
  }
}

}  // namespace
}  // namespace octet::gpu_test
