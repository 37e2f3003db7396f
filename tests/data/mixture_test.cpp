#include "src/data/mixture.h"

#include <cmath>
#include <limits>
#include <numeric>

#include "tests/data/support.h"

namespace octet {
namespace {

TEST(Mixture, IsExactOverEveryPeriodAndCountsUpInEverySource) {
  const std::vector<std::vector<double>> cases = {{1}, {1, 1}, {3, 1}, {1, 1, 1}, {0.7, 0.2, 0.1}, {5, 3, 2, 1, 0.001}};
  for (const auto& weights : cases) {
    const Mixture mixture(weights);
    const auto counts = mixture.counts();
    EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}), Mixture::period);
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    std::vector<std::int64_t> had(weights.size(), 0);
    for (std::int64_t g = 0; g < 3 * Mixture::period; ++g) {
      const auto [source, number] = mixture.turn(g);
      const auto s = static_cast<std::size_t>(source);
      ASSERT_EQ(number, had[s]) << "sample " << g;
      ++had[s];
      if ((g + 1) % Mixture::period != 0) continue;
      for (std::size_t i = 0; i < weights.size(); ++i) {
        EXPECT_EQ(had[i], (g + 1) / Mixture::period * counts[i]);
        EXPECT_LE(std::abs(static_cast<double>(counts[i]) - weights[i] / sum * 65536.0), 1.0);
      }
    }
  }
}

TEST(Mixture, EveryStretchHoldsTheSharesToWithinAFewSamples) {
  const std::vector<double> weights = {0.5, 0.3, 0.15, 0.05};
  const Mixture mixture(weights);
  std::vector<std::int64_t> had(weights.size(), 0);
  for (std::int64_t g = 0; g < Mixture::period; ++g) {
    ++had[static_cast<std::size_t>(mixture.turn(g).source)];
    for (std::size_t i = 0; i < weights.size(); ++i) {
      ASSERT_LE(std::abs(static_cast<double>(had[i]) - weights[i] * static_cast<double>(g + 1)), 4.0);
    }
  }
}

TEST(Mixture, LargestRemainderGoesToTheLargestFractionThenTheFirst) {
  const std::vector<double> thirds = {1, 1, 1};  // 21845.33 each
  const Mixture mixture(thirds);
  EXPECT_EQ(std::vector(mixture.counts().begin(), mixture.counts().end()),
            (std::vector<std::int64_t>{21846, 21845, 21845}));
}

TEST(Mixture, FarSamplesNeedNoHistory) {
  const std::vector<double> weights = {2, 1};
  const Mixture mixture(weights);
  const std::int64_t far = (std::int64_t{1} << 46) * Mixture::period;
  const auto [source, number] = mixture.turn(far + 5);
  const auto near = mixture.turn(5);
  EXPECT_EQ(source, near.source);
  EXPECT_EQ(number, (std::int64_t{1} << 46) * mixture.counts()[static_cast<std::size_t>(source)] + near.number);
}

TEST(Mixture, RefusesWeightsThatMakeNoMixture) {
  const auto make = [](std::vector<double> weights) { return test::error_of([&] { Mixture mixture(weights); }); };
  EXPECT_HAS(make({}), "data.train is empty");
  EXPECT_HAS(make({1, 0}), "data.train[1].weight is 0");
  EXPECT_HAS(make({-1}), "data.train[0].weight is -1");
  EXPECT_HAS(make({1, std::nan("")}), "data.train[1].weight is nan");
  EXPECT_HAS(make({std::numeric_limits<double>::infinity()}), "weight is inf");
  EXPECT_HAS(make({1, 1e-6}), "less than one sample in 65536");
}

}  // namespace
}  // namespace octet
