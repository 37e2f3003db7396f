#include "src/data/mixture.h"

#include <cmath>
#include <numeric>

#include "tests/data/support.h"

namespace octet {
namespace {

TEST(PeriodMixture, IsExactOverEveryPeriodAndCountsUpInEverySource) {
  const std::vector<std::vector<double>> cases = {{1}, {1, 1}, {3, 1}, {1, 1, 1}, {0.7, 0.2, 0.1}, {5, 3, 2, 1, 0.001}};
  for (const auto& weights : cases) {
    const PeriodMixture mixture(weights);
    const auto counts = mixture.shares();
    EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}), PeriodMixture::period);
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    std::vector<std::int64_t> had(weights.size(), 0);
    for (std::int64_t g = 0; g < 3 * PeriodMixture::period; ++g) {
      const auto [source, number] = mixture.turn(g);
      const auto s = static_cast<std::size_t>(source);
      ASSERT_EQ(number, had[s]) << "sample " << g;
      ++had[s];
      if ((g + 1) % PeriodMixture::period != 0) continue;
      for (std::size_t i = 0; i < weights.size(); ++i) {
        EXPECT_EQ(had[i], (g + 1) / PeriodMixture::period * counts[i]);
        EXPECT_LE(std::abs(static_cast<double>(counts[i]) - weights[i] / sum * 65536.0), 1.0);
      }
    }
  }
}

TEST(PeriodMixture, EveryStretchHoldsTheSharesToWithinAFewSamples) {
  const std::vector<double> weights = {0.5, 0.3, 0.15, 0.05};
  const PeriodMixture mixture(weights);
  std::vector<std::int64_t> had(weights.size(), 0);
  for (std::int64_t g = 0; g < PeriodMixture::period; ++g) {
    ++had[static_cast<std::size_t>(mixture.turn(g).source)];
    for (std::size_t i = 0; i < weights.size(); ++i) {
      ASSERT_LE(std::abs(static_cast<double>(had[i]) - weights[i] * static_cast<double>(g + 1)), 4.0);
    }
  }
}

TEST(PeriodMixture, LargestRemainderGoesToTheLargestFractionThenTheFirst) {
  const std::vector<double> thirds = {1, 1, 1};  // 21845.33 each
  const PeriodMixture mixture(thirds);
  EXPECT_EQ(std::vector(mixture.shares().begin(), mixture.shares().end()),
            (std::vector<std::int64_t>{21846, 21845, 21845}));
}

TEST(PeriodMixture, FarSamplesNeedNoHistory) {
  const std::vector<double> weights = {2, 1};
  const PeriodMixture mixture(weights);
  const std::int64_t far = (std::int64_t{1} << 46) * PeriodMixture::period;
  const auto [source, number] = mixture.turn(far + 5);
  const auto near = mixture.turn(5);
  EXPECT_EQ(source, near.source);
  EXPECT_EQ(number, (std::int64_t{1} << 46) * mixture.shares()[static_cast<std::size_t>(source)] + near.number);
}

TEST(PeriodMixture, RefusesWhatAPeriodHasNoSampleFor) {
  const std::vector<double> weights = {1, 1e-6};
  EXPECT_HAS(test::error_of([&] { PeriodMixture mixture(weights); }),
             "the weight 1e-06 is less than one sample in 65536");
}

}  // namespace
}  // namespace octet
