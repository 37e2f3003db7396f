#include <gtest/gtest.h>

#include "src/tuning/fit/predict.h"
#include "src/tuning/fit/size_scaling.h"
#include "tests/tuning/fit_support.h"

namespace octet {
namespace {

constexpr std::int64_t gigabyte = std::int64_t{1} << 30;

/// alpha of the cost model's shapes: a ring's grows with the nodes, a tree's with their logarithm.
double true_alpha(Algorithm algorithm, int nodes) {
  return algorithm == Algorithm::ring ? 8.4 + 73 * nodes : 40 + 28 * std::log2(nodes);
}

double true_beta(Algorithm algorithm, int nodes) {
  const int ranks = 8 * nodes;
  return algorithm == Algorithm::tree ? 144 : 370 / bus_factor(Collective::all_reduce, ranks);
}

TuningFile measured(Algorithm algorithm, const std::vector<int>& nodes, Noise noise) {
  TuningFile tuning;
  for (const int n : nodes) {
    noise.seed += 1000;
    const AlphaBeta fit = fit_alpha_beta(made_up_rows(true_alpha(algorithm, n), true_beta(algorithm, n), noise, 2));
    tuning.fits.push_back(tuned_fit(fit, Collective::all_reduce, algorithm, Protocol::simple, {n, 8}));
  }
  return tuning;
}

std::optional<Prediction> predicted(const TuningFile& tuning, Algorithm algorithm, int nodes, std::int64_t bytes) {
  return fitted_us(tuning, Collective::all_reduce, algorithm, Protocol::simple, {nodes, 8}, bytes);
}

class Extrapolated : public testing::TestWithParam<Algorithm> {};

TEST_P(Extrapolated, To64NodesFrom2To16) {
  const Algorithm algorithm = GetParam();
  for (unsigned seed = 1; seed <= 10; ++seed) {
    const TuningFile tuning = measured(algorithm, {2, 4, 8, 16}, {0.03, 0.1, seed});
    for (const std::int64_t bytes : {std::int64_t{1024}, std::int64_t{64} << 20, 4 * gigabyte}) {
      const double truth = true_alpha(algorithm, 64) + static_cast<double>(bytes) / (1e3 * true_beta(algorithm, 64));
      const auto found = predicted(tuning, algorithm, 64, bytes);
      ASSERT_TRUE(found);
      EXPECT_NEAR(found->us / truth, 1, 0.05) << "seed " << seed << ", " << bytes << " bytes";
      EXPECT_LT(found->low_us, truth);
      EXPECT_GT(found->high_us, truth);
      EXPECT_TRUE(found->extrapolated);
      EXPECT_EQ(found->basis, "from fits on 2, 4, 8, 16 nodes");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Nodes, Extrapolated, testing::Values(Algorithm::ring, Algorithm::tree, Algorithm::nvls_tree));

TEST(Nodes, TheIntervalWidensOutsideOfWhatWasMeasured) {
  const TuningFile tuning = measured(Algorithm::ring, {2, 4, 8, 16}, {0.03, 0.1, 7});
  double width = 0;
  for (const int nodes : {12, 32, 64, 128, 512}) {
    const auto found = predicted(tuning, Algorithm::ring, nodes, 1 << 20);
    ASSERT_TRUE(found);
    const double own = found->high_us / found->low_us;
    EXPECT_GT(own, width) << nodes;
    width = own;
  }
  const auto inside = predicted(tuning, Algorithm::ring, 16, 4 * gigabyte);
  const auto larger = predicted(tuning, Algorithm::ring, 16, 64 * gigabyte);
  EXPECT_FALSE(inside->extrapolated);
  EXPECT_TRUE(larger->extrapolated);
  EXPECT_GT(larger->high_us / larger->us, inside->high_us / inside->us);
}

TEST(Nodes, AMeasuredNumberOfNodesHasItsOwnLine) {
  const TuningFile tuning = measured(Algorithm::ring, {2, 4, 8}, {0.02, 0, 3});
  const auto found = predicted(tuning, Algorithm::ring, 4, 1 << 20);
  ASSERT_TRUE(found);
  const TunedFit& own = tuning.fits.at(1);
  EXPECT_DOUBLE_EQ(found->us, own.alpha_us + (1 << 20) / (1e3 * own.beta_gbs));
  EXPECT_EQ(found->basis, "measured on 4 nodes");
}

TEST(Nodes, ARateThatFallsWithTheNodesIsFollowed) {
  TuningFile tuning;
  for (const int n : {2, 4, 8, 16}) {
    const double beta = 200 * std::pow(n, -0.1) / bus_factor(Collective::all_reduce, 8 * n);
    const AlphaBeta fit = fit_alpha_beta(made_up_rows(100, beta, {0.02, 0, static_cast<unsigned>(n)}, 2));
    tuning.fits.push_back(tuned_fit(fit, Collective::all_reduce, Algorithm::ring, Protocol::simple, {n, 8}));
  }
  const double truth = 4e9 / 1e3 / (200 * std::pow(64, -0.1) / bus_factor(Collective::all_reduce, 512));
  EXPECT_NEAR(predicted(tuning, Algorithm::ring, 64, 4'000'000'000)->us / truth, 1, 0.05);
}

TEST(Nodes, WithoutTwoNumbersOfNodesNothingIsSaidOfOthers) {
  const TuningFile one = measured(Algorithm::ring, {4}, {0.02, 0, 3});
  EXPECT_FALSE(predicted(one, Algorithm::ring, 8, 1 << 20));
  const TuningFile two = measured(Algorithm::ring, {2, 4}, {0.02, 0, 3});
  EXPECT_TRUE(predicted(two, Algorithm::ring, 8, 1 << 20));
  EXPECT_FALSE(predicted(two, Algorithm::ring, 1, 1 << 20)) << "one node is another machine";
  EXPECT_FALSE(predicted(two, Algorithm::tree, 8, 1 << 20));
  EXPECT_FALSE(fitted_us(two, Collective::all_reduce, Algorithm::ring, Protocol::simple, {8, 4}, 1 << 20));
}

TEST(Nodes, NinetyFivePercentAreWithinTheInterval) {
  int within = 0, all = 0;
  for (unsigned seed = 1; seed <= 20; ++seed) {
    const TuningFile tuning = measured(Algorithm::tree, {8}, {0.04, 0.1, seed});
    for (const FitPoint& p : made_up_rows(true_alpha(Algorithm::tree, 8), 144, {0.04, 0, 500 + seed}, 1)) {
      const auto found = predicted(tuning, Algorithm::tree, 8, p.bytes);
      within += p.microseconds > found->low_us && p.microseconds < found->high_us ? 1 : 0;
      ++all;
    }
  }
  EXPECT_GT(within, 0.92 * all);
  EXPECT_LT(within, all) << "an interval that nothing leaves says nothing";
}

TEST(Nodes, FitsReadBackFromTheFile) {
  TuningFile tuning = measured(Algorithm::ring, {2, 4, 8}, {0.02, 0.1, 3});
  tuning.cluster = "c", tuning.fabric = "roce", tuning.nccl = "2.28.9";
  tuning.provenance = {.created = "2026-01-01T00:00:00Z", .tool = "octet", .measurements = {}, .notes = {}};
  const TuningFile back = parse_tuning_file(to_json(tuning), "file");
  const auto before = predicted(tuning, Algorithm::ring, 64, gigabyte);
  const auto after = predicted(back, Algorithm::ring, 64, gigabyte);
  EXPECT_DOUBLE_EQ(before->us, after->us);
  EXPECT_DOUBLE_EQ(before->high_us, after->high_us);
}

}  // namespace
}  // namespace octet
