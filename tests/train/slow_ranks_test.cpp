#include "src/train/health/slow_ranks.h"

#include <gtest/gtest.h>

namespace octet {
namespace {

std::vector<RankPace> paces(double step, const std::vector<double>& waits) {
  std::vector<RankPace> ranks;
  ranks.reserve(waits.size());
  for (const double wait : waits) ranks.push_back({"node", step, wait});
  return ranks;
}

TEST(SlowRanks, TheOneThatNeverWaitsIsNamedWithItsFactor) {
  const auto slow = find_slow_ranks(paces(1.5, {0.6, 0.1, 0.62, 0.58}), 1.2);
  ASSERT_EQ(slow.size(), 1u);
  EXPECT_EQ(slow[0].rank, 1);
  EXPECT_NEAR(slow[0].factor, 1.5 / (1.5 - 0.5), 1e-9);  // the others would need a second
}

TEST(SlowRanks, OfTwoRanksTheBusyOne) {
  const auto slow = find_slow_ranks(paces(1.0, {0.0, 0.4}), 1.2);
  ASSERT_EQ(slow.size(), 1u);
  EXPECT_EQ(slow[0].rank, 0);
}

TEST(SlowRanks, AStragglersNodeMayHaveSeveral) {
  const auto slow = find_slow_ranks(paces(1.0, {0.5, 0.5, 0.1, 0.1, 0.5, 0.5, 0.5, 0.5}), 1.5);
  ASSERT_EQ(slow.size(), 2u);
  EXPECT_EQ(slow[0].rank, 2);
  EXPECT_EQ(slow[1].rank, 3);
}

TEST(SlowRanks, EqualOnesAndOneThatWaitsMoreAreNot) {
  EXPECT_TRUE(find_slow_ranks(paces(1.0, {0.5, 0.5, 0.48, 0.52}), 1.2).empty());
  EXPECT_TRUE(find_slow_ranks(paces(1.0, {0.1, 0.1, 0.9, 0.1}), 1.2).empty());
  EXPECT_TRUE(find_slow_ranks(paces(0.0, {0.0, 0.0}), 1.2).empty());
}

/// Collectives on several streams may take longer than a step: the factor stays a number.
TEST(SlowRanks, OverlappedWaitsBeyondTheStep) {
  const auto slow = find_slow_ranks(paces(1.0, {2.0, 2.0, 0.5}), 1.2);
  ASSERT_EQ(slow.size(), 1u);
  EXPECT_NEAR(slow[0].factor, 100.0, 1e-6);
}

TEST(SlowRanks, OfEachNodeTheSlowestIsNamedAndOfManyNodesTheFirst) {
  std::vector<RankPace> ranks;
  std::vector<SlowRank> slow;
  for (int r = 0; r < 80; ++r) {  // 8 a node, of which two are slow
    ranks.push_back({fmt::format("node-{}", r / 8), 1.0, r % 8 < 2 ? 0.0 : 0.5, fmt::format(", stage {},", r % 8)});
    if (r % 8 < 2) slow.push_back({r, r % 8 == 1 ? 2.5 : 2.0});
  }
  const std::string text = describe_slow_ranks(slow, ranks, 10);
  EXPECT_TRUE(text.starts_with("rank 1 on node-0, stage 1, (")) << text;
  EXPECT_NE(text.find("2.50 times as long) and 1 more there, rank 9 on node-1, stage 1, ("), std::string::npos) << text;
  EXPECT_EQ(text.find("on node-8"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with(", and 4 rank(s) on 2 more node(s)")) << text;
}

}  // namespace
}  // namespace octet
