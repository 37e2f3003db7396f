#include <gtest/gtest.h>

#include <algorithm>

#include "src/tuning/fit/alpha_beta.h"
#include "src/tuning/robust.h"
#include "tests/tuning/fit_support.h"

namespace octet {
namespace {

struct Truth {
  double alpha_us, beta_gbs;
};
// Tree/LL, Tree/Simple, NVLSTree and Ring/Simple of 16 nodes, and a socket network.
constexpr Truth truths[] = {{55, 10}, {176, 144}, {192, 183}, {1190, 194}, {900, 1.1}};

TEST(AlphaBeta, ExactRowsGiveTheLine) {
  const AlphaBeta fit = fit_alpha_beta(made_up_rows(55, 144, {}, 1));
  EXPECT_NEAR(fit.alpha_us, 55, 1e-6);
  EXPECT_NEAR(fit.beta_gbs, 144, 1e-6);
  EXPECT_EQ(fit.rows, 30);
  EXPECT_TRUE(fit.left_out.empty());
}

class Recovered : public testing::TestWithParam<std::tuple<double, double>> {};

TEST_P(Recovered, WithinFivePercent) {
  const auto [sigma, outliers] = GetParam();
  for (const Truth& truth : truths) {
    for (unsigned seed = 1; seed <= 6; ++seed) {
      // Noise of 10 % needs more rows for 5 %: the errors fall with their square root.
      const int repeats = sigma > 0.05 ? 16 : 4;
      const AlphaBeta fit =
          fit_alpha_beta(made_up_rows(truth.alpha_us, truth.beta_gbs, {sigma, outliers, seed}, repeats));
      EXPECT_NEAR(fit.alpha_us / truth.alpha_us, 1, 0.05) << "seed " << seed << ", alpha " << truth.alpha_us;
      EXPECT_NEAR(fit.beta_gbs / truth.beta_gbs, 1, 0.05) << "seed " << seed << ", beta " << truth.beta_gbs;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AlphaBeta, Recovered,
                         testing::Combine(testing::Values(0.01, 0.03, 0.05, 0.1), testing::Values(0.0, 0.1, 0.2)));

TEST(AlphaBeta, OutliersDoNotMoveIt) {
  // The same noise with and without outliers: the line stays where it was, within its own standard errors.
  for (unsigned seed = 1; seed <= 10; ++seed) {
    std::vector<FitPoint> rows = made_up_rows(176, 144, {0.02, 0, seed});
    const AlphaBeta clean = fit_alpha_beta(rows);
    for (std::size_t i = seed % 5; i < rows.size(); i += 5) rows[i].microseconds *= 10;
    const AlphaBeta spoiled = fit_alpha_beta(rows);
    EXPECT_NEAR(spoiled.alpha_us, clean.alpha_us, 2 * clean.alpha_error_us);
    EXPECT_NEAR(spoiled.beta_gbs, clean.beta_gbs, 2 * clean.beta_error_gbs);
    for (std::size_t i = seed % 5; i < rows.size(); i += 5) {
      EXPECT_NE(std::find(spoiled.left_out.begin(), spoiled.left_out.end(), i), spoiled.left_out.end()) << i;
    }
  }
}

TEST(AlphaBeta, OutliersOnSmallSizesAloneDoNotMoveIt) {
  std::vector<FitPoint> rows = made_up_rows(176, 144, {0.02, 0, 3});
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].bytes < (1 << 20) && i % 3 == 0) rows[i].microseconds *= 6;
  }
  const AlphaBeta fit = fit_alpha_beta(rows);
  EXPECT_NEAR(fit.alpha_us / 176, 1, 0.05);
  EXPECT_NEAR(fit.beta_gbs / 144, 1, 0.05);
}

TEST(AlphaBeta, StandardErrorsAreThoseOfTheSpread) {
  // Over many seeds the fitted values must scatter as their standard errors say.
  double alpha_chi = 0, beta_chi = 0;
  constexpr int runs = 200;
  for (unsigned seed = 1; seed <= runs; ++seed) {
    const AlphaBeta fit = fit_alpha_beta(made_up_rows(176, 144, {0.05, 0.1, seed}, 2));
    alpha_chi += std::pow((fit.alpha_us - 176) / fit.alpha_error_us, 2) / runs;
    beta_chi += std::pow((fit.beta_gbs - 144) / fit.beta_error_gbs, 2) / runs;
  }
  EXPECT_GT(alpha_chi, 0.5);
  EXPECT_LT(alpha_chi, 1.6);
  EXPECT_GT(beta_chi, 0.5);
  EXPECT_LT(beta_chi, 1.6);
}

TEST(AlphaBeta, AnUndeterminedLatencySaysSo) {
  std::vector<FitPoint> large;
  for (const FitPoint& p : made_up_rows(20, 100, {0.03, 0, 5})) {
    if (p.bytes > (std::int64_t{256} << 20)) large.push_back(p);
  }
  const AlphaBeta fit = fit_alpha_beta(large);
  EXPECT_NEAR(fit.beta_gbs / 100, 1, 0.05);
  EXPECT_GT(fit.alpha_error_us, 20);
}

TEST(AlphaBeta, WhatNoLineFollowsIsNoNoise) {
  // A dip to half of the speed at four medium sizes, in every repeat, as NCCL's trees have: no accident.
  std::vector<FitPoint> rows = made_up_rows(60, 144, {0.01, 0, 5});
  EXPECT_LT(fit_alpha_beta(rows).residual(), 0.015);
  for (FitPoint& row : rows) {
    if (row.bytes >= (1 << 20) && row.bytes < (16 << 20)) row.microseconds *= 2;
  }
  const AlphaBeta fit = fit_alpha_beta(rows);
  EXPECT_NEAR(fit.alpha_us / 60, 1, 0.05);
  EXPECT_NEAR(fit.beta_gbs / 144, 1, 0.05);
  EXPECT_LT(fit.noise, 0.015);
  EXPECT_NEAR(fit.misfit, std::log(2) * std::sqrt(4.0 / 30), 0.01);
  EXPECT_NEAR(fit.residual(), fit.misfit, 0.01);
}

TEST(AlphaBeta, TooLittleIsRefusedWithTheReason) {
  EXPECT_EQ(why_no_fit({{8, 1}, {64, 2}, {512, 3}}), "3 rows; needs 5");
  EXPECT_EQ(why_no_fit({{8, 1}, {8, 2}, {8, 3}, {64, 4}, {64, 4}}), "2 sizes; needs 3");
  EXPECT_EQ(why_no_fit({{8, 1}, {9, 2}, {10, 3}, {11, 4}, {12, 4}}), "sizes of 8 to 12 bytes; needs a span of 4 times");
  EXPECT_EQ(why_no_fit(made_up_rows(5, 5, {}, 1)), "");
}

TEST(Robust, MedianScaleAndQuantiles) {
  EXPECT_DOUBLE_EQ(median({3, 1, 2}), 2);
  EXPECT_DOUBLE_EQ(median({4, 1, 2, 3}), 2.5);
  EXPECT_DOUBLE_EQ(low_quantile({5, 1, 4, 2, 3}, 0.25), 2);
  EXPECT_DOUBLE_EQ(robust_scale({-1, 1, -1, 1, 1000}, 0), 1.4826 * 2);
  EXPECT_DOUBLE_EQ(tukey_weight(0), 1);
  EXPECT_DOUBLE_EQ(tukey_weight(5), 0);
}

TEST(Robust, StudentQuantilesAreThoseOfTheTables) {
  EXPECT_DOUBLE_EQ(student_95(1), 12.706);
  EXPECT_DOUBLE_EQ(student_95(4), 2.776);
  EXPECT_NEAR(student_95(6), 2.447, 0.01);
  EXPECT_NEAR(student_95(10), 2.228, 0.005);
  EXPECT_NEAR(student_95(1000), 1.962, 0.001);
}

}  // namespace
}  // namespace octet
