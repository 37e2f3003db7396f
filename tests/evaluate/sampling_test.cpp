#include "src/evaluate/sampling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "src/base/error.h"

namespace octet {
namespace {

const std::vector<float> logits = {0.3f, -1.0f, 2.0f, 1.2f, 2.0f, -4.0f, 0.9f};

TEST(ChooseToken, AtTemperatureZeroIsTheFirstOfTheMostLikely) {
  for (const std::int64_t position : {0, 1, 77}) EXPECT_EQ(choose_token(logits, {}, position), 2);
}

TEST(ChooseToken, DependsOnSeedAndPositionAlone) {
  const Sampling sampling{.temperature = 1.5, .top_p = 0.95, .seed = 5};
  std::vector<std::int32_t> once, again, other;
  for (std::int64_t i = 0; i < 200; ++i) once.push_back(choose_token(logits, sampling, i));
  for (std::int64_t i = 200; i-- > 0;) again.insert(again.begin(), choose_token(logits, sampling, i));
  for (std::int64_t i = 0; i < 200; ++i) other.push_back(choose_token(logits, {1.5, 0.95, 6}, i));
  EXPECT_EQ(once, again);
  EXPECT_NE(once, other);
}

/// The kept tokens and their probabilities, from the definition.
std::vector<double> exact(double temperature, double top_p) {
  std::vector<double> p(logits.size());
  double sum = 0;
  for (std::size_t i = 0; i < p.size(); ++i) sum += p[i] = std::exp(static_cast<double>(logits[i]) / temperature);
  double kept = 0;
  std::vector<double> out(p.size());
  while (kept < top_p * sum * (1 - 1e-12)) {
    std::size_t best = 0;
    for (std::size_t i = 0; i < p.size(); ++i) best = p[i] > p[best] ? i : best;
    out[best] = p[best];
    kept += p[best];
    p[best] = 0;
  }
  for (double& x : out) x /= kept;
  return out;
}

/// Chi-squared over 20,000 draws, which with these seeds is below the 99.9 % point of 6 degrees of freedom.
TEST(ChooseToken, DrawsByTheDistributionOfTheMostLikelyTokens) {
  constexpr int draws = 20'000;
  for (const auto& [temperature, top_p] :
       std::vector<std::pair<double, double>>{{1, 1}, {0.7, 0.9}, {2, 0.6}, {1, 0.3}}) {
    std::vector<int> count(logits.size());
    for (int i = 0; i < draws; ++i) {
      ++count[static_cast<std::size_t>(choose_token(logits, {temperature, top_p, 11}, i))];
    }
    const std::vector<double> p = exact(temperature, top_p);
    double distance = 0;
    for (std::size_t i = 0; i < p.size(); ++i) {
      if (p[i] == 0) {
        EXPECT_EQ(count[i], 0) << "token " << i << " at top-p " << top_p;
      } else {
        distance += (count[i] - draws * p[i]) * (count[i] - draws * p[i]) / (draws * p[i]);
      }
    }
    EXPECT_LT(distance, 22.46) << "temperature " << temperature << ", top-p " << top_p;
  }
}

TEST(ChooseToken, AlmostNoTopPIsTheMostLikely) {
  for (std::int64_t i = 0; i < 50; ++i) EXPECT_EQ(choose_token(logits, {1, 1e-9, 3}, i), 2);
}

TEST(ChooseToken, RefusesWhatIsNotFinite) {
  std::vector<float> bad = logits;
  bad[3] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THROW(choose_token(bad, {}, 0), Error);
  bad[3] = -std::numeric_limits<float>::infinity();
  EXPECT_THROW(choose_token(bad, {1, 1, 1}, 0), Error);
}

}  // namespace
}  // namespace octet
