#include "src/model/config.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace octet {
namespace {

constexpr RopeScaling llama31{.kind = RopeScalingKind::llama3};

TEST(RopeScaling, NoneIsThePlainRule) {
  const auto f = rope_frequencies(8, 10000, {});
  ASSERT_EQ(f.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(f[i], std::pow(10.0, -static_cast<double>(i)), 1e-15);
}

TEST(RopeScaling, Llama3KeepsHighFrequenciesDividesLowOnesAndBlendsBetween) {
  const auto plain = rope_frequencies(128, 500000, {}), scaled = rope_frequencies(128, 500000, llama31);
  int kept = 0, divided = 0, between = 0;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    // By wavelengths, as the published rule has it; ours goes by turns.
    const double wavelength = 2 * std::numbers::pi / plain[i];
    if (wavelength < 8192.0 / 4) {
      EXPECT_EQ(scaled[i], plain[i]) << i;
      ++kept;
    } else if (wavelength > 8192.0 / 1) {
      EXPECT_EQ(scaled[i], plain[i] / 8) << i;
      ++divided;
    } else {
      const double s = (8192 / wavelength - 1) / 3;
      EXPECT_NEAR(scaled[i], ((1 - s) / 8 + s) * plain[i], 1e-15) << i;
      ++between;
    }
  }
  EXPECT_GT(kept, 20);
  EXPECT_GT(divided, 20);
  EXPECT_GT(between, 3);
}

}  // namespace
}  // namespace octet
