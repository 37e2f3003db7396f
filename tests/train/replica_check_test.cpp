#include "src/train/health/replica_check.h"

#include <gtest/gtest.h>

namespace octet {
namespace {

ParameterList list_of(const std::vector<std::string>& names) {
  ParameterList list;
  list.units = {"embedding"};
  for (const std::string& name : names) list.add({.name = name, .unit = 0, .global = {4}, .shape = {4}});
  return list;
}

const ParameterList list = list_of({"a", "b", "c"});

/// Equal replicas; the pieces of different shards differ.
std::vector<ReplicaReport> equal_reports(const MeshShape& shape) {
  std::vector<ReplicaReport> reports;
  for (int r = 0; r < shape.dp_replicate * shape.dp_shard; ++r) {
    const auto shard = static_cast<std::uint64_t>(coordinates(shape, r).dp_shard);
    reports.push_back({fmt::format("node-{}", r / 2), {shard, shard + 1, shard + 2}});
  }
  return reports;
}

TEST(DescribeDifference, EqualReplicasHaveNone) {
  for (const MeshShape& shape :
       {MeshShape{.dp_replicate = 1, .dp_shard = 4}, MeshShape{.dp_replicate = 2, .dp_shard = 2},
        MeshShape{.dp_replicate = 3, .dp_shard = 1}}) {
    EXPECT_EQ(describe_difference(shape, list, equal_reports(shape)), std::nullopt);
  }
}

TEST(DescribeDifference, TwoReplicasStandAgainstEachOther) {
  const MeshShape shape{.dp_replicate = 2, .dp_shard = 2};
  auto reports = equal_reports(shape);
  reports[3].hashes[2] ^= 1;
  EXPECT_EQ(describe_difference(shape, list, reports),
            "rank 1 on node-0, rank 3 on node-1 against each other, with no majority; the first parameter that differs "
            "is c");
}

TEST(DescribeDifference, AMajorityPutsTheRestInTheWrong) {
  const MeshShape shape{.dp_replicate = 3, .dp_shard = 2};
  for (const std::size_t bad : {0u, 1u, 4u}) {  // the first of a group must not pass for the right one
    auto reports = equal_reports(shape);
    reports[bad].hashes[1] ^= 1;
    reports[bad].hashes[2] ^= 1;
    EXPECT_EQ(
        describe_difference(shape, list, reports),
        fmt::format("rank {} on node-{} against the majority; the first parameter that differs is b", bad, bad / 2));
  }
}

TEST(DescribeDifference, HalfIsNoMajority) {
  const MeshShape shape{.dp_replicate = 4, .dp_shard = 1};
  auto reports = equal_reports(shape);
  reports[1].hashes[0] = reports[2].hashes[0] = 77;
  EXPECT_EQ(describe_difference(shape, list, reports),
            "rank 0 on node-0, rank 1 on node-0, rank 2 on node-1, rank 3 on node-1 against each other, with no "
            "majority; the first parameter that differs is a");
}

TEST(DescribeDifference, SeveralPiecesMakeOneMessage) {
  const MeshShape shape{.dp_replicate = 3, .dp_shard = 2};
  auto reports = equal_reports(shape);
  reports[0].hashes[2] = 70;                                                    // piece 0: one against two
  for (const std::size_t rank : {1u, 3u}) reports[rank].hashes[1] = 80 + rank;  // piece 1: all different
  EXPECT_EQ(describe_difference(shape, list, reports),
            "rank 0 on node-0 against the majority; rank 1 on node-0, rank 3 on node-1, rank 5 on node-2 against each "
            "other, with no majority; the first parameter that differs is b");
}

TEST(DescribeDifference, LongListsAreCut) {
  const MeshShape shape{.dp_replicate = 2, .dp_shard = 20};
  auto reports = equal_reports(shape);
  for (std::size_t r = 0; r < 20; ++r) reports[r].hashes[0] = 1000 + r;
  const auto text = describe_difference(shape, list, reports);
  ASSERT_TRUE(text);
  EXPECT_NE(text->find("rank 15 on node-7 and 24 more against each other"), std::string::npos) << *text;
}

/// Of "a", "b", "c" tensor parallelism cuts all but "b".
ParameterList partly_cut(int tp) {
  ParameterList cut = list;
  for (ParameterSpec& p : cut.parameters) p.cut = {p.name == "b" ? -1 : 0, {0, tp}};
  return cut;
}

/// Equal where they have to be: the pieces of "a" and "c" differ between the ranks of a tp group.
std::vector<ReplicaReport> equal_cut_reports(const MeshShape& shape) {
  std::vector<ReplicaReport> reports;
  for (int r = 0; r < shape.dp_replicate * shape.dp_shard * shape.tp; ++r) {
    const MeshCoordinates c = coordinates(shape, r);
    const auto shard = static_cast<std::uint64_t>(c.dp_shard), piece = 100 * shard + static_cast<std::uint64_t>(c.tp);
    reports.push_back({fmt::format("node-{}", r / 2), {piece, shard, piece + 50}});
  }
  return reports;
}

TEST(DescribeDifference, WhatIsCutIsNotComparedInATpGroup) {
  for (const MeshShape& shape :
       {MeshShape{.dp_shard = 2, .tp = 2}, MeshShape{.dp_replicate = 2, .dp_shard = 2, .tp = 4}}) {
    EXPECT_EQ(describe_difference(shape, partly_cut(shape.tp), equal_cut_reports(shape)), std::nullopt);
  }
}

TEST(DescribeDifference, WhatIsNotCutIsComparedInATpGroup) {
  const MeshShape pair{.dp_shard = 2, .tp = 2};
  auto reports = equal_cut_reports(pair);
  reports[2].hashes[1] ^= 1;
  EXPECT_EQ(describe_difference(pair, partly_cut(2), reports),
            "rank 2 on node-1, rank 3 on node-1 against each other, with no majority; the first parameter that differs "
            "is b");
  const MeshShape four{.dp_shard = 1, .tp = 4};
  reports = equal_cut_reports(four);
  reports[0].hashes[1] ^= 1;
  EXPECT_EQ(describe_difference(four, partly_cut(4), reports),
            "rank 0 on node-0 against the majority; the first parameter that differs is b");
}

TEST(DescribeDifference, ReplicasOfATpGroupDecideTogetherOnWhatIsNotCut) {
  const MeshShape shape{.dp_replicate = 2, .dp_shard = 1, .tp = 2};
  auto reports = equal_cut_reports(shape);
  reports[3].hashes[1] ^= 1;
  EXPECT_EQ(describe_difference(shape, partly_cut(2), reports),
            "rank 3 on node-1 against the majority; the first parameter that differs is b");
  reports = equal_cut_reports(shape);
  reports[3].hashes[2] ^= 1;  // of what is cut each replica has one
  EXPECT_EQ(describe_difference(shape, partly_cut(2), reports),
            "rank 1 on node-0, rank 3 on node-1 against each other, with no majority; the first parameter that differs "
            "is c");
}

/// The first and the last stage of a pipeline have a tied embedding; those between hold none of it.
TEST(DescribeDifference, ATiedEmbeddingIsComparedBetweenTheStagesThatHaveIt) {
  ParameterList tied;
  tied.units = {"embedding", "block.0", "head"};
  for (const auto& [name, unit] : {std::pair{"embedding", 0}, {"w", 1}, {"norm", 2}}) {
    tied.add({.name = name, .unit = unit, .global = {4}, .shape = {4}});
  }
  const MeshShape shape{.pp = 3, .dp_shard = 1};
  std::vector<ReplicaReport> reports{{"a", {5, 0, 0}}, {"b", {0, 6, 0}}, {"c", {5, 0, 7}}};
  EXPECT_EQ(describe_difference(shape, tied, reports), std::nullopt);
  reports[2].hashes[0] = 4;
  EXPECT_EQ(describe_difference(shape, tied, reports),
            "rank 0 on a, rank 2 on c against each other, with no majority; the first parameter that differs is "
            "embedding");
}

TEST(HashShards, EveryElementCountsAndPaddingDoesNot) {
  const auto stream = cpu_device().make_stream();
  ParameterList large = list_of({"small", "large"});
  large.parameters[0].global = {5};                 // 3 and 2 rows: the second rank has one of padding
  large.parameters[1].global = {2, (1 << 20) + 7};  // hashed in two pieces
  const ShardLayout layout(large, 1, 2);
  ShardedBuffer master(layout, cpu_device(), *stream, Purpose::parameters);
  const auto hashes = [&] { return hash_shards(large, master, cpu_device(), *stream); };
  const ShardHashes before = hashes();
  ASSERT_EQ(before.size(), 2u);
  EXPECT_NE(before[0], before[1]);
  EXPECT_EQ(hashes(), before);
  for (const std::int64_t element : {0, (1 << 20) - 1, 1 << 20, (1 << 20) + 6}) {
    master.data(1)[element] = 1e-30f;
    EXPECT_EQ(hashes()[0], before[0]);
    EXPECT_NE(hashes()[1], before[1]) << element;
    master.data(1)[element] = 0;
  }
  master.data(0)[2] = 1;
  EXPECT_EQ(hashes(), before);
}

}  // namespace
}  // namespace octet
