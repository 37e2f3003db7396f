#include "src/base/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

#include "src/base/normal_quantile.h"
#include "src/base/philox.h"

namespace octet {
namespace {

using Block = std::array<std::uint32_t, 4>;

/// random_block with the four counter words and two key words of Philox.
Block philox(const Block& counter, std::uint32_t key0, std::uint32_t key1) {
  return random_block({.seed = static_cast<std::uint64_t>(key1) << 32 | key0,
                       .purpose = static_cast<RandomPurpose>(counter[2]),
                       .stream = counter[3]},
                      static_cast<std::uint64_t>(counter[1]) << 32 | counter[0]);
}

TEST(Random, KnownAnswersOfRandom123) {  // tests/kat_vectors of Random123, "philox4x32 10"
  EXPECT_EQ(philox({0, 0, 0, 0}, 0, 0), (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, 0xffffffff, 0xffffffff),
            (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0xa4093822, 0x299f31d0),
            (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Random, ThePhiloxOfDevicesIsRandom123s) {
  for (std::uint32_t i = 0; i < 1000; ++i) {
    const Block counter{i * 2654435761u, i, ~i, i * i};
    const std::uint32_t key0 = i * 40503u, key1 = ~(i * 69069u);
    const PhiloxBlock block = octet::philox({{counter[0], counter[1], counter[2], counter[3]}}, key0, key1);
    EXPECT_EQ((Block{block.v[0], block.v[1], block.v[2], block.v[3]}), philox(counter, key0, key1)) << i;
  }
}

/// Multiplicative inverse of an odd number modulo 2^32 (Newton).
std::uint32_t inverse(std::uint32_t odd) {
  std::uint32_t x = odd;
  for (int i = 0; i < 5; ++i) x *= 2 - odd * x;
  return x;
}

/// The counter whose block is `out` for seed 0: Philox4x32-10 run backwards.
Block counter_of(Block out) {
  constexpr std::uint32_t m0 = 0xD2511F53, m1 = 0xCD9E8D57, w0 = 0x9E3779B9, w1 = 0xBB67AE85;
  for (std::uint32_t round = 10; round-- > 0;) {
    const std::uint32_t c0 = out[3] * inverse(m0), c2 = out[1] * inverse(m1);
    const auto high = [](std::uint32_t a, std::uint32_t b) {
      return static_cast<std::uint32_t>(static_cast<std::uint64_t>(a) * b >> 32);
    };
    out = {c0, out[0] ^ high(m1, c2) ^ (round * w0), c2, out[2] ^ high(m0, c0) ^ (round * w1)};
  }
  return out;
}

TEST(Random, UniformIsOpenAtBothEnds) {
  const auto uniform_of = [](const Block& block) {
    const Block c = counter_of(block);
    EXPECT_EQ(philox(c, 0, 0), block);
    return random_uniform({.seed = 0, .purpose = static_cast<RandomPurpose>(c[2]), .stream = c[3]},
                          static_cast<std::uint64_t>(c[1]) << 32 | c[0]);
  };
  const double least = uniform_of({0, 0, 1, 2}), greatest = uniform_of({0xffffffff, 0xffffffff, 3, 4});
  EXPECT_EQ(least, 0x1p-53);
  EXPECT_EQ(greatest, 1.0 - 0x1p-53);
  EXPECT_TRUE(std::isfinite(normal_quantile(least)) && std::isfinite(normal_quantile(greatest)));
}

TEST(Random, EveryPartOfTheKeyMatters) {
  const RandomKey key{.seed = 1, .purpose = RandomPurpose::initial_weights, .stream = 2};
  const RandomKey keys[] = {key,
                            {2, key.purpose, key.stream},
                            {1 + (1ull << 32), key.purpose, key.stream},
                            {1, RandomPurpose::data_order, key.stream},
                            {1, key.purpose, 3}};
  std::set<std::uint64_t> bits;
  for (const RandomKey& k : keys) {
    for (const std::uint64_t index : {0ull, 1ull, 1ull << 32, 1ull << 63}) bits.insert(random_bits(k, index));
  }
  EXPECT_EQ(bits.size(), 20u);
  EXPECT_EQ(random_bits(key, 5), random_bits(RandomKey(key), 5));
}

TEST(Random, UniformFillsItsInterval) {
  constexpr int n = 160000, cells = 16;
  int count[cells] = {};
  for (int i = 0; i < n; ++i) {
    const double u = random_uniform({.seed = 4}, static_cast<std::uint64_t>(i));
    ASSERT_GT(u, 0.0);
    ASSERT_LT(u, 1.0);
    ++count[static_cast<int>(u * cells)];
  }
  for (const int c : count) EXPECT_NEAR(c, double{n} / cells, 5 * std::sqrt(double{n} / cells));
}

/// Against one of 64 bits. Half a unit in the last place is what rounding alone costs.
TEST(NormalQuantile, ItsLogarithmIsWrongByHardlyMoreThanItsRounding) {
  double worst = 0;
  for (std::uint64_t i = 0; i < 1'000'000; ++i) {
    const double u = random_uniform({.seed = 6}, i);
    const double x = i % 2 == 0 ? u : std::ldexp(u, -static_cast<int>(i % 1000));
    const double log = normal::logarithm(x);
    const double unit = std::nextafter(std::abs(log), INFINITY) - std::abs(log);
    worst = std::max(
        worst,
        static_cast<double>(std::abs(static_cast<long double>(log) - std::log(static_cast<long double>(x)))) / unit);
  }
  EXPECT_LT(worst, 0.54);
  EXPECT_EQ(normal::logarithm(1.0), 0.0);
  EXPECT_EQ(normal::logarithm(0.5), std::log(0.5));
}

TEST(NormalQuantile, KnownValues) {
  EXPECT_EQ(normal_quantile(0.5), 0.0);
  const double known[][2] = {{0.25, -0.674489750196081743},  {0.975, 1.959963984540054236},
                             {0.001, -3.090232306167813541}, {1e-5, -4.264890793922824628},
                             {1e-10, -6.361340902404056},    {1e-20, -9.262340089798408},
                             {0.841344746068542949, 1.0}};
  for (const auto& [p, x] : known) EXPECT_NEAR(normal_quantile(p), x, 4e-15 * std::max(1.0, std::abs(x))) << p;
}

TEST(NormalQuantile, InvertsTheDistributionFunctionAndIsSymmetric) {
  double previous = -40;
  for (int e = -1000; e <= -1; ++e) {  // central, middle and tail expansions
    for (const double p : {std::ldexp(1.0, e), std::ldexp(1.5, e)}) {
      if (p >= 0.5) continue;
      const double x = normal_quantile(p);
      EXPECT_GT(x, previous) << p;
      previous = x;
      EXPECT_NEAR(0.5 * std::erfc(-x / std::sqrt(2.0)) / p, 1.0, 1e-12) << p;
      if (e > -50) {  // 1 - p is exact
        EXPECT_EQ(normal_quantile(1.0 - p), -x) << p;
      }
    }
  }
}

struct Moments {
  double mean = 0, variance = 0, fourth = 0, greatest = 0;
};

Moments moments_of(double cutoff, int n) {
  Moments m;
  for (int i = 0; i < n; ++i) {
    const double x = random_normal({.seed = 9}, static_cast<std::uint64_t>(i), cutoff);
    m.mean += x / n;
    m.variance += x * x / n;
    m.fourth += x * x * x * x / n;
    m.greatest = std::max(m.greatest, std::abs(x));
  }
  return m;
}

TEST(RandomNormal, MomentsOfTheNormal) {
  constexpr int n = 200000;
  const Moments m = moments_of(8.0, n);
  EXPECT_NEAR(m.mean, 0.0, 5.0 / std::sqrt(n));
  EXPECT_NEAR(m.variance, 1.0, 5.0 * std::sqrt(2.0 / n));
  EXPECT_NEAR(m.fourth, 3.0, 5.0 * std::sqrt(96.0 / n));
  EXPECT_GT(m.greatest, 4.0);
}

TEST(RandomNormal, TruncationKeepsTheShapeInside) {
  constexpr int n = 100000;
  for (const double cutoff : {0.5, 2.0, 3.0}) {
    const Moments m = moments_of(cutoff, n);
    const double density = std::exp(-0.5 * cutoff * cutoff) / std::sqrt(2 * M_PI);
    const double variance = 1.0 - 2.0 * cutoff * density / std::erf(cutoff / std::sqrt(2.0));
    EXPECT_LE(m.greatest, cutoff * (1 + 1e-14)) << cutoff;
    EXPECT_GT(m.greatest, cutoff * 0.99) << cutoff;
    EXPECT_NEAR(m.mean, 0.0, 5.0 * std::sqrt(variance / n)) << cutoff;
    EXPECT_NEAR(m.variance, variance, 5.0 * std::sqrt(2.0 / n) * variance) << cutoff;
  }
}

}  // namespace
}  // namespace octet
