// Which rank of a node a slow node or link is slow by.
#include "jobs/commbench/local_ranks.h"

#include <gtest/gtest.h>

#include "src/tuning/pairs/pairwise.h"

namespace octet::commbench {
namespace {

constexpr int nodes = 5, ranks = 4;

/// Rank r is on node r % 5: ranks of a node do not follow each other.
Teams dealt_teams() {
  std::vector<std::string> node_of;
  node_of.reserve(nodes * ranks);
  for (int rank = 0; rank < nodes * ranks; ++rank) node_of.push_back("n" + std::to_string(rank % nodes));
  return make_teams(PairsOf::nodes, node_of);
}

RankMatrix<float> healthy() {
  RankMatrix<float> us(nodes * ranks);
  for (float& value : us.values()) value = 100;
  return us;
}

/// The one part that find_slow_parts names, as the slowest rank shows it.
SlowPart only_part(const Teams& teams, const RankMatrix<float>& us) {
  const auto found = find_slow_parts(slowest_of(teams, us));
  EXPECT_EQ(found.slow.size(), 1U);
  return found.slow.at(0);
}

std::string told(const Teams& teams, const RankMatrix<float>& us) {
  const SlowPart part = only_part(teams, us);
  return describe(part, teams.names) + describe(teams, part, slow_ranks(teams, us, part, 1.25));
}

TEST(SlowRanks, OfANodeTheRankWhoseNicIsSlowIsNamed) {
  const Teams teams = dealt_teams();
  RankMatrix<float> us = healthy();
  for (int other = 0; other < nodes; ++other) {
    if (other != 3) us.at(13, 10 + other) = us.at(10 + other, 13) = 250;
  }
  EXPECT_EQ(slow_ranks(teams, us, only_part(teams, us), 1.25), (std::vector<SlowRank>{{2, 2.5}}));
  EXPECT_EQ(told(teams, us),
            "node n3: everything from and to it takes 2.50 times as long as others, by local rank 2 (rank 13): 2.50 "
            "times as long as the others there");
}

TEST(SlowRanks, OfADirectionItIsTheRankThatSendsOrReceives) {
  const Teams teams = dealt_teams();
  RankMatrix<float> sends = healthy(), receives = healthy();
  for (int other = 1; other < nodes; ++other) sends.at(5, 5 + other) = receives.at(5 + other, 5) = 300;
  EXPECT_EQ(only_part(teams, sends).kind, SlowPart::Kind::sender);
  EXPECT_EQ(slow_ranks(teams, sends, only_part(teams, sends), 1.25), (std::vector<SlowRank>{{1, 3}}));
  EXPECT_EQ(only_part(teams, receives).kind, SlowPart::Kind::receiver);
  EXPECT_EQ(slow_ranks(teams, receives, only_part(teams, receives), 1.25), (std::vector<SlowRank>{{1, 3}}));
}

TEST(SlowRanks, OfALinkBothRanksAreNamed) {
  const Teams teams = dealt_teams();
  RankMatrix<float> us = healthy();
  us.at(19, 16) = 400;
  EXPECT_EQ(told(teams, us),
            "link n4 -> n1 takes 4.00 times as long as others, by local rank 3 (ranks 19 and 16): 4.00 times as long "
            "as the others there");
}

TEST(SlowRanks, WhereAllAreSlowNoneIsNamed) {
  const Teams teams = dealt_teams();
  RankMatrix<float> us = healthy();
  for (int k = 0; k < ranks; ++k) us.at(nodes * k, nodes * k + 2) = us.at(nodes * k + 2, nodes * k) = 200;
  EXPECT_EQ(told(teams, us), "link n0 <-> n2 takes 2.00 times as long as others, all ranks alike");
}

TEST(SlowRanks, TeamsOfOneRankSayNothing) {
  const Teams teams = make_teams(PairsOf::ranks, std::vector<std::string>(5, "n"));
  RankMatrix<float> us(5);
  for (float& value : us.values()) value = 100;
  us.at(1, 2) = 400;
  EXPECT_EQ(told(teams, us), "link n.1 -> n.2 takes 4.00 times as long as others");
}

}  // namespace
}  // namespace octet::commbench
