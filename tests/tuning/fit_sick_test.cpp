#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "src/tuning/fit/sick.h"

namespace octet {
namespace {

/// A sweep of all pairs of `nodes` nodes at 100 us; `slower(i, j)` is what pair i < j takes more.
std::vector<PairTime> sweep(int nodes, double sigma, unsigned seed, const std::function<double(int, int)>& slower) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::vector<PairTime> pairs;
  for (int i = 0; i < nodes; ++i) {
    for (int j = i + 1; j < nodes; ++j) {
      pairs.push_back(
          {fmt::format("n{}", i), fmt::format("n{}", j), 100 * slower(i, j) * std::exp(sigma * normal(random))});
    }
  }
  return pairs;
}

TEST(Sick, AHealthyClusterHasNothingNamed) {
  for (const int nodes : {3, 4, 8, 16, 32}) {
    for (unsigned seed = 1; seed <= 20; ++seed) {
      const SickReport report = find_sick(sweep(nodes, 0.02, seed, [](int, int) { return 1.0; }));
      EXPECT_TRUE(report.nodes.empty() && report.links.empty()) << nodes << " nodes, seed " << seed;
    }
  }
}

TEST(Sick, ANodeIsToldFromALink) {
  for (const int nodes : {4, 8, 16, 32}) {
    const double sigma = nodes == 4 ? 0.01 : 0.02;  // of 6 pairs the spread is not known well
    for (unsigned seed = 1; seed <= 20; ++seed) {
      const SickReport node =
          find_sick(sweep(nodes, sigma, seed, [](int i, int j) { return i == 2 || j == 2 ? 1.5 : 1.0; }));
      ASSERT_EQ(node.nodes.size(), 1U) << nodes << " nodes, seed " << seed;
      EXPECT_EQ(node.nodes[0].node, "n2");
      EXPECT_NEAR(node.nodes[0].slowdown, 1.5, 0.15);
      EXPECT_EQ(node.nodes[0].pairs, nodes - 1);
      EXPECT_TRUE(node.links.empty());

      const SickReport link =
          find_sick(sweep(nodes, sigma, seed, [](int i, int j) { return i == 1 && j == 3 ? 1.5 : 1.0; }));
      ASSERT_EQ(link.links.size(), 1U) << nodes << " nodes, seed " << seed;
      EXPECT_EQ(link.links[0].first, "n1");
      EXPECT_EQ(link.links[0].second, "n3");
      EXPECT_NEAR(link.links[0].slowdown, 1.5, 0.2);
      EXPECT_TRUE(link.nodes.empty());
    }
  }
}

TEST(Sick, ANodeAndALinkAtOnce) {
  const SickReport report = find_sick(sweep(12, 0.03, 4, [](int i, int j) {
    if (i == 5 || j == 5) return 2.0;
    return i == 0 && j == 7 ? 1.6 : 1.0;
  }));
  ASSERT_EQ(report.nodes.size(), 1U);
  EXPECT_EQ(report.nodes[0].node, "n5");
  ASSERT_EQ(report.links.size(), 1U);
  EXPECT_EQ(report.links[0].second, "n7");
}

TEST(Sick, TheWorstComesFirst) {
  const SickReport report = find_sick(sweep(16, 0.02, 4, [](int i, int j) {
    const auto slow = [](int n) { return n == 3 ? 1.4 : n == 9 ? 3.0 : 1.0; };
    return std::max(slow(i), slow(j));
  }));
  ASSERT_EQ(report.nodes.size(), 2U);
  EXPECT_EQ(report.nodes[0].node, "n9");
  EXPECT_EQ(report.nodes[1].node, "n3");
}

TEST(Sick, TooFewPairsAreNotJudged) {
  const auto slow_pair = [](int i, int j) { return i == 0 && j == 1 ? 9.0 : 1.0; };
  for (const int nodes : {2, 3}) {
    const SickReport report = find_sick(sweep(nodes, 0.02, 1, slow_pair));
    EXPECT_EQ(report.unsure, "too few pairs to judge: fewer than 4 met 3 others");
    EXPECT_TRUE(report.nodes.empty() && report.links.empty());
  }
  EXPECT_FALSE(find_sick(sweep(4, 0.02, 1, slow_pair)).links.empty());
}

TEST(Sick, RepeatedPairsCountByTheirMedianInEitherOrder) {
  auto pairs = sweep(6, 0.01, 4, [](int, int) { return 1.0; });
  pairs.push_back({"n1", "n0", 900});  // once, against two of 100
  pairs.push_back({"n0", "n1", 100});
  EXPECT_TRUE(find_sick(pairs).links.empty());
}

}  // namespace
}  // namespace octet
