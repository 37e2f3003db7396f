#include "checkpoints/hugging_face/weight_type.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

namespace octet::checkpoint {
namespace {

constexpr std::uint16_t largest = 0x7BFF;

TEST(Half, RoundsAsNumpyAndTorch) {
  // numpy 2 and torch 2: float32 bits, and those of .astype(float16) and .half(), which agree.
  const std::vector<std::pair<std::uint32_t, std::uint16_t>> golden = {
      {0x3F800000, 0x3C00}, {0x3F801000, 0x3C00}, {0x3F803000, 0x3C02}, {0x3F801001, 0x3C01}, {0x477FE000, 0x7BFF},
      {0x477FEFFF, 0x7BFF}, {0x477FF000, 0x7C00}, {0x477FDFFF, 0x7BFF}, {0x38800000, 0x0400}, {0x387FFFFF, 0x0400},
      {0x387FE000, 0x0400}, {0x387FDFFF, 0x03FF}, {0x387FF000, 0x0400}, {0x33000000, 0x0000}, {0x33000001, 0x0001},
      {0x33800000, 0x0001}, {0x33C00000, 0x0002}, {0x34200000, 0x0002}, {0x32FFFFFF, 0x0000}, {0xB3000000, 0x8000},
      {0xB3000001, 0x8001}, {0x80000000, 0x8000}, {0x00000001, 0x0000}, {0x007FFFFF, 0x0000}, {0xC77FEFFF, 0xFBFF},
      {0x3EAAAAAB, 0x3555}, {0xBDCCCCCD, 0xAE66}, {0x40490FDB, 0x4248}, {0x7F800000, 0x7C00}, {0xFF800000, 0xFC00},
  };
  for (const auto& [bits, half] : golden) EXPECT_EQ(to_half(std::bit_cast<float>(bits)), half) << std::hex << bits;
}

TEST(Half, EveryHalfComesBack) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float x = from_half(half);
    if (std::isnan(x)) {
      EXPECT_TRUE(std::isnan(from_half(to_half(x)))) << bits;
    } else {
      EXPECT_EQ(to_half(x), half);
    }
  }
}

TEST(Half, EveryMidpointGoesToEvenAndWhatIsBesideItToTheNearest) {
  for (std::uint16_t below = 0; below < largest; ++below) {
    const auto above = static_cast<std::uint16_t>(below + 1);
    const float middle = (from_half(below) + from_half(above)) / 2;  // exact
    EXPECT_EQ(to_half(middle), below % 2 == 0 ? below : above);
    EXPECT_EQ(to_half(std::nextafter(middle, 0.0f)), below);
    EXPECT_EQ(to_half(-std::nextafter(middle, 1e6f)), above | 0x8000);
  }
}

TEST(Half, WhatIsBeyondTheLargestIsInfinite) {
  EXPECT_EQ(to_half(65519.996f), largest);
  EXPECT_EQ(to_half(65520), 0x7C00);
  EXPECT_EQ(to_half(-std::numeric_limits<float>::max()), 0xFC00);
}

}  // namespace
}  // namespace octet::checkpoint
