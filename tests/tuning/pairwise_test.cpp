#include "src/tuning/pairs/pairwise.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>

#include "src/base/error.h"

namespace octet {
namespace {

using Kind = SlowPart::Kind;

TEST(RoundRobin, EachPairMeetsOnceAndNobodyTwoAtATime) {
  for (int n = 0; n <= 17; ++n) {
    SCOPED_TRACE(n);
    const auto rounds = round_robin(n);
    EXPECT_EQ(rounds.size(), static_cast<std::size_t>(n == 0 ? 0 : n - 1 + n % 2));
    std::set<std::pair<int, int>> met;
    for (const auto& round : rounds) {
      std::set<int> busy;
      for (const auto& [a, b] : round) {
        EXPECT_TRUE(0 <= a && a < b && b < n);
        EXPECT_TRUE(busy.insert(a).second && busy.insert(b).second);
        EXPECT_TRUE(met.insert({a, b}).second);
      }
      EXPECT_EQ(round.size(), static_cast<std::size_t>(n / 2)) << "all are busy but one of an odd number";
    }
    EXPECT_EQ(met.size(), static_cast<std::size_t>(n * (n - 1) / 2));
  }
}

/// Per cent of noise in which a factor of 2 shows: of few pairs the spread is not known well.
int bearable(int nodes) {
  return nodes == 4 ? 4 : 8;
}

/// Times around 1000 us, with noise of up to so many per cent.
PairTimes healthy(int n, int percent, unsigned seed) {
  std::mt19937 random(seed);
  PairTimes times(n);
  for (int a = 0; a < n; ++a) {
    for (int b = 0; b < n; ++b) {
      const int noise =
          percent == 0 ? 0 : static_cast<int>(random() % static_cast<unsigned>(2 * percent + 1)) - percent;
      if (a != b) times.at(a, b) = 1000.0 * (1 + noise / 100.0);
    }
  }
  return times;
}

TEST(SlowParts, HealthyMachinesHaveNone) {
  for (int n = 0; n <= 16; ++n) {
    for (unsigned seed = 0; seed < 20; ++seed) EXPECT_TRUE(find_slow_parts(healthy(n, 8, seed)).slow.empty()) << n;
  }
  EXPECT_NEAR(find_slow_parts(healthy(8, 8, 1)).typical_us, 1000, 80);
}

TEST(SlowParts, ALinkIsNamedBothWaysOrOne) {
  for (const int n : {4, 5, 8, 16}) {
    for (unsigned seed = 0; seed < 20; ++seed) {
      SCOPED_TRACE(fmt::format("{} nodes, seed {}", n, seed));
      PairTimes times = healthy(n, bearable(n), seed);
      times.at(0, 2) *= 4;
      auto slow = find_slow_parts(times).slow;
      ASSERT_EQ(slow.size(), 1U);
      EXPECT_EQ(slow[0].kind, Kind::link);
      EXPECT_EQ(std::pair(slow[0].from, slow[0].to), std::pair(0, 2));
      EXPECT_FALSE(slow[0].both_ways);
      EXPECT_NEAR(slow[0].factor, 4, 0.8);

      times.at(2, 0) *= 3;
      slow = find_slow_parts(times).slow;
      ASSERT_EQ(slow.size(), 1U);
      EXPECT_TRUE(slow[0].kind == Kind::link && slow[0].both_ways);
    }
  }
}

TEST(SlowParts, ANodeIsNamedAndNotItsLinks) {
  for (const int n : {4, 5, 8, 16}) {
    for (unsigned seed = 0; seed < 20; ++seed) {
      SCOPED_TRACE(fmt::format("{} nodes, seed {}", n, seed));
      PairTimes sends = healthy(n, bearable(n), seed), receives = sends, both = sends;
      for (int other = 0; other < n; ++other) {
        if (other == 1) continue;
        sends.at(1, other) *= 2;
        receives.at(other, 1) *= 2;
        both.at(1, other) *= 2;
        both.at(other, 1) *= 2;
      }
      auto slow = find_slow_parts(sends).slow;
      ASSERT_EQ(slow.size(), 1U);
      EXPECT_TRUE(slow[0].kind == Kind::sender && slow[0].from == 1);
      slow = find_slow_parts(receives).slow;
      ASSERT_EQ(slow.size(), 1U);
      EXPECT_TRUE(slow[0].kind == Kind::receiver && slow[0].to == 1);
      slow = find_slow_parts(both).slow;
      ASSERT_EQ(slow.size(), 1U);
      EXPECT_TRUE(slow[0].kind == Kind::node && slow[0].from == 1);
      EXPECT_NEAR(slow[0].factor, 2, 0.4);
    }
  }
}

TEST(SlowParts, ASlowNodeHidesNoLinkThatIsSlower) {
  PairTimes times = healthy(8, 5, 3);
  for (int other = 0; other < 8; ++other) {
    if (other != 5) times.at(5, other) *= 2, times.at(other, 5) *= 2;
  }
  times.at(2, 6) *= 10;
  times.at(5, 1) *= 4;
  const auto slow = find_slow_parts(times).slow;
  ASSERT_EQ(slow.size(), 3U);
  EXPECT_TRUE(slow[0].kind == Kind::link && slow[0].from == 2 && slow[0].to == 6);
  EXPECT_TRUE(slow[1].kind == Kind::link && slow[1].from == 5 && slow[1].to == 1);
  EXPECT_TRUE(slow[2].kind == Kind::node && slow[2].from == 5);
}

TEST(SlowParts, NoiseRaisesTheThreshold) {
  EXPECT_NEAR(find_slow_parts(healthy(12, 1, 1)).threshold, 1.25, 1e-9);
  EXPECT_GT(find_slow_parts(healthy(12, 40, 1)).threshold, 1.5);
  PairTimes times = healthy(12, 40, 1);
  times.at(3, 4) *= 1000;
  const auto slow = find_slow_parts(times).slow;
  ASSERT_FALSE(slow.empty());
  EXPECT_EQ(std::pair(slow[0].from, slow[0].to), std::pair(3, 4));
}

// Ranks that share cores: a pair takes microseconds, or ticks of the scheduler.
TEST(SlowParts, TooMuchNoiseIsNotJudged) {
  PairTimes times(6);
  std::mt19937 random(1);
  for (int from = 0; from < 6; ++from) {
    for (int to = 0; to < 6; ++to) times.at(from, to) = 5 * std::exp(std::uniform_real_distribution(0.0, 6.0)(random));
  }
  const PairFindings found = find_slow_parts(times);
  EXPECT_NE(found.unjudged.find("too noisy to judge: pairs that are well scatter by a factor of "), std::string::npos);
  EXPECT_TRUE(found.slow.empty());
  EXPECT_EQ(find_slow_parts(times, 1e9).unjudged, "") << "a tolerance above the noise was asked for";
}

TEST(SlowParts, TooFewPairsAreNotJudged) {
  for (const int n : {0, 1, 2, 3}) {
    PairTimes times = healthy(n, 0, 1);
    if (n > 1) times.at(1, 0) *= 1000;
    const PairFindings found = find_slow_parts(times);
    EXPECT_EQ(found.unjudged, "too few pairs to judge: fewer than 4 met 3 others") << n;
    EXPECT_TRUE(found.slow.empty()) << n;
  }
  PairTimes times = healthy(4, 0, 1);
  times.at(1, 0) *= 1000;
  EXPECT_EQ(find_slow_parts(times).unjudged, "");
  EXPECT_EQ(find_slow_parts(times).slow.size(), 1U);
  times.at(2, 3) = 0;  // node 2 sent to two alone, node 3 received from two
  EXPECT_NE(find_slow_parts(times).unjudged, "");
}

TEST(SlowParts, NodesThatMetTooFewAreLeftOut) {
  PairTimes times = healthy(9, 2, 1);
  for (int other = 2; other < 9; ++other) times.at(0, other) = times.at(other, 0) = 0;
  times.at(0, 1) *= 50;
  EXPECT_TRUE(find_slow_parts(times).slow.empty()) << "of node 0 one pair is known";
  times.at(4, 5) *= 2;
  times.at(6, 7) = 0;
  const auto slow = find_slow_parts(times).slow;
  ASSERT_EQ(slow.size(), 1U);
  EXPECT_EQ(std::pair(slow[0].from, slow[0].to), std::pair(4, 5));
}

TEST(SlowParts, NoiseAloneIsRarelyNamed) {
  std::mt19937 random(1);
  std::normal_distribution<double> normal(0, 0.1);
  for (const auto& [n, most] : {std::pair(4, 40), std::pair(5, 40), std::pair(8, 15)}) {
    int named = 0;
    for (int sweep = 0; sweep < 1000; ++sweep) {
      PairTimes times(n);
      for (int a = 0; a < n; ++a) {
        for (int b = 0; b < n; ++b) times.at(a, b) = std::exp(normal(random));
      }
      named += find_slow_parts(times).slow.empty() ? 0 : 1;
    }
    EXPECT_LE(named, most) << n << " nodes, of 1000 healthy sweeps";
  }
}

TEST(SlowParts, TimesThatCannotBeAreRefused) {
  PairTimes times = healthy(3, 0, 1);
  EXPECT_THROW(find_slow_parts(times, 1.0), Error);
  times.at(0, 1) = -1;
  EXPECT_THROW(find_slow_parts(times), Error);
}

TEST(SlowParts, AreDescribedByName) {
  const std::vector<std::string> names{"n1", "n2"};
  EXPECT_EQ(describe({.kind = Kind::node, .from = 1, .factor = 2}, names),
            "node n2: everything from and to it takes 2.00 times as long as others");
  EXPECT_EQ(describe({.kind = Kind::sender, .from = 0, .factor = 2}, names),
            "node n1 sends slowly: what it sends takes 2.00 times as long as others");
  EXPECT_EQ(describe({.kind = Kind::receiver, .to = 0, .factor = 2}, names),
            "node n1 receives slowly: what it receives takes 2.00 times as long as others");
  EXPECT_EQ(describe({.from = 0, .to = 1, .factor = 2}, names), "link n1 <-> n2 takes 2.00 times as long as others");
}

}  // namespace
}  // namespace octet
