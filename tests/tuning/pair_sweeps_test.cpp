// Sweeps of pairs in a simulated fat tree: leaves below uplinks that carry less than the nodes' ports.
#include "src/tuning/pairs/pair_sweeps.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace octet {
namespace {

using Kind = SlowPart::Kind;

struct Tree {
  int nodes = 64, leaf = 32;  ///< of so many nodes each
  double oversubscription = 2;
  bool dealt = false;  ///< nodes lie below the leaves in turn
  double noise = .02;

  int leaf_of(int node) const { return dealt ? node % (nodes / leaf) : node / leaf; }
  double capacity() const { return leaf / oversubscription; }  // of a leaf's uplinks, in ports of a node
};

/// A node or a link that is slow by itself.
struct Fault {
  int node = -1, from = -1, to = -1;
  double factor = 1;

  double of(int a, int b) const {
    return a == node || b == node || (a == from && b == to) || (a == to && b == from) ? factor : 1;
  }
};

class Fabric {
 public:
  Fabric(const Tree& tree, const Fault& fault) : tree_(tree), fault_(fault), shortest_(tree.nodes) {}

  const PairTimes& shortest() const { return shortest_; }

  void measure(const PairRound& round) {
    std::vector<double> crossing(static_cast<std::size_t>(tree_.nodes / tree_.leaf));
    const auto load = [&](int node) -> double& { return crossing[static_cast<std::size_t>(tree_.leaf_of(node))]; };
    const auto crosses = [&](int a, int b) { return tree_.leaf_of(a) != tree_.leaf_of(b); };
    for (const auto& [a, b] : round) {
      if (crosses(a, b)) ++load(a), ++load(b);
    }
    for (const auto& [a, b] : round) {
      const double shared = crosses(a, b) ? std::max({1., load(a) / tree_.capacity(), load(b) / tree_.capacity()}) : 1;
      take(a, b, shared);
      take(b, a, shared);
    }
  }

 private:
  void take(int from, int to, double shared) {
    const double us = 100 * std::max(shared, fault_.of(from, to)) * (1 + tree_.noise * normal_(random_));
    double& shortest = shortest_.at(from, to);
    shortest = shortest == 0 ? us : std::min(shortest, us);
  }

  Tree tree_;
  Fault fault_;
  PairTimes shortest_;
  std::mt19937 random_{1};
  std::normal_distribution<double> normal_;
};

/// As octet-commbench does it.
PairFindings swept(const Tree& tree, const Fault& fault) {
  Fabric fabric(tree, fault);
  for (const auto& round : round_robin(tree.nodes)) fabric.measure(round);
  for (int sweeps = 1;; ++sweeps) {
    const std::vector<PairRound> rounds = next_sweep(fabric.shortest(), sweeps, 1.25);
    if (rounds.empty()) return find_slow_parts(fabric.shortest(), 1.25);
    for (const auto& round : rounds) fabric.measure(round);
  }
}

const std::vector<Tree> trees{{.leaf = 32, .oversubscription = 1.92},
                              {.leaf = 32, .oversubscription = 4},
                              {.leaf = 16, .oversubscription = 1.92},
                              {.leaf = 16, .oversubscription = 4},
                              {.leaf = 8, .oversubscription = 4},
                              {.leaf = 16, .oversubscription = 8},
                              {.leaf = 16, .oversubscription = 2, .dealt = true},
                              {.leaf = 32, .oversubscription = 4, .dealt = true},
                              {.nodes = 256, .leaf = 32, .oversubscription = 8},
                              {.nodes = 64, .leaf = 64, .oversubscription = 1}};

std::string text(const Tree& tree) {
  return fmt::format("{} nodes, leaves of {}, {}:1{}", tree.nodes, tree.leaf, tree.oversubscription,
                     tree.dealt ? ", dealt" : "");
}

TEST(PairSweeps, SharedUplinksAreNoSlowLinks) {
  for (const Tree& tree : trees) {
    SCOPED_TRACE(text(tree));
    const PairFindings found = swept(tree, {});
    EXPECT_EQ(found.unjudged, "");
    EXPECT_TRUE(found.slow.empty()) << found.slow.size();
    EXPECT_NEAR(found.typical_us, 100, 5) << "what a pair takes that has the uplinks for itself";
  }
}

TEST(PairSweeps, ASlowNodeIsNamedAndNothingElse) {
  for (const Tree& tree : trees) {
    SCOPED_TRACE(text(tree));
    const PairFindings found = swept(tree, {.node = 21, .factor = 1.5});
    ASSERT_EQ(found.slow.size(), 1U);
    EXPECT_EQ(found.slow[0].kind, Kind::node);
    EXPECT_EQ(found.slow[0].from, 21);
    EXPECT_NEAR(found.slow[0].factor, 1.5, .1);
  }
}

TEST(PairSweeps, ASlowLinkIsNamedWithinALeafAndAcross) {
  for (const Tree& tree : trees) {
    for (const int to : {5, 60}) {
      SCOPED_TRACE(fmt::format("{}, link 4 to {}", text(tree), to));
      const PairFindings found = swept(tree, {.from = 4, .to = to, .factor = 1.6});
      ASSERT_EQ(found.slow.size(), 1U);
      EXPECT_EQ(found.slow[0].kind, Kind::link);
      EXPECT_EQ(std::pair(found.slow[0].from, found.slow[0].to), std::pair(4, to));
    }
  }
}

// Why one sweep is not enough.
TEST(PairSweeps, TheFirstSweepAloneNamesSharedUplinksOrHidesASlowNode) {
  Fabric two({.leaf = 32, .oversubscription = 1.92}, {}),
      four({.leaf = 16, .oversubscription = 1.92}, {.node = 21, .factor = 1.5});
  for (const auto& round : round_robin(64)) two.measure(round), four.measure(round);
  EXPECT_GT(find_slow_parts(two.shortest()).slow.size(), 500U);
  EXPECT_TRUE(find_slow_parts(four.shortest()).slow.empty());
  EXPECT_FALSE(next_sweep(four.shortest(), 1, 1.25).empty()) << "partners below the same leaf are faster";
}

TEST(PairSweeps, AHealthyNetworkIsSweptOnce) {
  Fabric fabric({.nodes = 64, .leaf = 64, .oversubscription = 1}, {});
  for (const auto& round : round_robin(64)) fabric.measure(round);
  EXPECT_TRUE(next_sweep(fabric.shortest(), 1, 1.25).empty());
  EXPECT_TRUE(next_sweep(PairTimes(3), 1, 1.25).empty()) << "too few to judge";
}

TEST(PairSweeps, QuietRoundsHaveEachPairOnceAndFewAtATime) {
  for (const int n : {0, 1, 2, 5, 16, 33}) {
    for (const std::size_t at_once : {1, 3}) {
      SCOPED_TRACE(fmt::format("{} nodes, {} pairs", n, at_once));
      std::set<std::pair<int, int>> met;
      for (const auto& round : quiet_rounds(n, static_cast<int>(at_once))) {
        std::set<int> busy;
        for (const auto& [a, b] : round) {
          EXPECT_TRUE(busy.insert(a).second && busy.insert(b).second);
          EXPECT_TRUE(met.insert({a, b}).second);
        }
        EXPECT_TRUE(!round.empty() && round.size() <= at_once);
      }
      EXPECT_EQ(met.size(), static_cast<std::size_t>(n * std::max(n - 1, 0) / 2));
    }
  }
}

TEST(PairSweeps, WhatIsSlowMeetsAgainUntilItIsAlone) {
  Fabric fabric({.nodes = 160, .leaf = 160, .oversubscription = 1}, {.from = 4, .to = 9, .factor = 2});
  std::vector<std::size_t> rounds, widest;
  for (int sweeps = 0; sweeps < 5; ++sweeps) {
    const auto next = sweeps == 0 ? round_robin(160) : next_sweep(fabric.shortest(), sweeps, 1.25);
    if (next.empty()) break;
    for (const auto& round : next) fabric.measure(round);
    rounds.push_back(next.size());
    widest.push_back(std::ranges::max(next, {}, [](const auto& round) { return round.size(); }).size());
  }
  EXPECT_EQ(rounds, (std::vector<std::size_t>{159, 159 * 16, 1}));
  EXPECT_EQ(widest, (std::vector<std::size_t>{80, 5, 1}));
}

TEST(PairSweeps, NearestPartnersTellOfTwoLevels) {
  Fabric tree({.leaf = 16, .oversubscription = 1.92, .noise = 0}, {});
  EXPECT_EQ(typical_to_nearest(tree.shortest()), 1) << "nothing was measured";
  for (const auto& round : round_robin(64)) tree.measure(round);
  EXPECT_NEAR(typical_to_nearest(tree.shortest()), 1.92, .01);
}

}  // namespace
}  // namespace octet
