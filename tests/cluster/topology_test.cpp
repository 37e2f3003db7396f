#include <gtest/gtest.h>

#include <algorithm>

#include "src/base/error.h"
#include "src/cluster/host_list.h"
#include "src/cluster/slurm_topology.h"

namespace octet {
namespace {

using Hosts = std::vector<std::string>;

/// As Slurm 22.05 prints it. Two pods: leaves of one pod are not listed next to each other.
const std::string tree =
    "SwitchName=leaf0 Level=0 LinkSpeed=1 Nodes=n[1-2]\n"
    "SwitchName=leaf1 Level=0 LinkSpeed=1 Nodes=n[3-4]\n"
    "SwitchName=leaf2 Level=0 LinkSpeed=1 Nodes=n[5-6]\n"
    "SwitchName=leaf3 Level=0 LinkSpeed=1 Nodes=(null)\n"
    "SwitchName=podA Level=1 LinkSpeed=1 Nodes=n[1-2,5-6] Switches=leaf[0,2]\n"
    "SwitchName=podB Level=1 LinkSpeed=1 Nodes=n[3-4] Switches=leaf[1,3]\n"
    "SwitchName=spine Level=2 LinkSpeed=1 Nodes=n[1-6] Switches=podA,podB\n";

const std::string blocks =
    "BlockName=b2 BlockIndex=1 Nodes=n[5-8] BlockSize=4\n"
    "BlockName=b1 BlockIndex=0 Nodes=n[1-4] BlockSize=4\n"
    "AggregatedBlock=b[1-2] BlockIndex=2 Nodes=n[1-8] BlockSize=8\n";

Hosts names(const SlurmTopology& topology) {
  Hosts out;
  for (const auto& leaf : topology.leaves) out.push_back(leaf.name);
  return out;
}

TEST(SlurmTopology, ReadsATreeFromItsTop) {
  const SlurmTopology found = parse_topology(tree);
  EXPECT_EQ(names(found), (Hosts{"leaf0", "leaf2", "leaf1"}));
  EXPECT_EQ(found.leaves[1].hosts, (Hosts{"n5", "n6"}));
}

TEST(SlurmTopology, ReadsBlocksByTheirIndex) {
  const SlurmTopology found = parse_topology(blocks);
  EXPECT_EQ(names(found), (Hosts{"b1", "b2"}));
  EXPECT_EQ(found.leaves[0].hosts, (Hosts{"n1", "n2", "n3", "n4"}));
}

TEST(SlurmTopology, IsNoneWithoutSuchLines) {
  for (const char* text : {"", "No topology information available\n"}) {
    EXPECT_TRUE(parse_topology(text).leaves.empty());
  }
}

TEST(SlurmTopology, EndsOnSwitchesInARing) {
  const SlurmTopology found =
      parse_topology("SwitchName=a Switches=b\nSwitchName=b Switches=a,c\nSwitchName=c Nodes=n1\n");
  EXPECT_EQ(names(found), Hosts{"c"});
}

TEST(SlurmTopology, RefusesWhatItCannotRead) {
  EXPECT_THROW(parse_topology("SwitchName=a Nodes=n[1-\n"), Error);
  EXPECT_THROW(parse_topology("BlockName=a BlockIndex=one Nodes=n1\n"), Error);
}

TEST(RankOrder, GoesLeafByLeafAndKeepsTheOrderWithin) {
  const SlurmTopology topology = parse_topology(tree);
  EXPECT_EQ(order_by_leaf({"n3", "x1", "n6", "n2", "n5", "n1"}, topology), (Hosts{"n2", "n1", "n6", "n5", "n3", "x1"}));
  EXPECT_EQ(order_by_leaf({"n4", "n1", "n3"}, {}), (Hosts{"n4", "n1", "n3"}));
  EXPECT_EQ(order_by_leaf({"n8", "n1", "n5"}, parse_topology(blocks)), (Hosts{"n1", "n8", "n5"}));
}

TEST(RankOrder, CrossesToEachLeafOnceAtClusterSize) {
  // 512 nodes of 8 ranks (4,096 ranks) on 16 leaves of 32; Slurm hands them out in an order that visits a leaf each
  // time.
  std::string text;
  Hosts given;
  for (int leaf = 0; leaf < 16; ++leaf) {
    text += fmt::format("SwitchName=s{} Level=0 Nodes=gpu[{:04}-{:04}]\n", leaf, leaf * 32, leaf * 32 + 31);
  }
  text += "SwitchName=top Level=1 Switches=s[0-15]\n";
  for (int i = 0; i < 512; ++i) given.push_back(fmt::format("gpu{:04}", i * 33 % 512));
  const SlurmTopology topology = parse_topology(text);
  const Hosts ordered = order_by_leaf(given, topology);
  EXPECT_EQ(leaf_crossings(given, topology), 512U);
  EXPECT_EQ(leaf_crossings(ordered, topology), 16U);
  EXPECT_TRUE(std::ranges::is_permutation(ordered, given));
  EXPECT_EQ(order_by_leaf(ordered, topology), ordered);
}

}  // namespace
}  // namespace octet
