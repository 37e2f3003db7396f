#include "src/comm/mesh.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "src/base/error.h"
#include "src/comm/mpi/mpi_communicator.h"
#include "tests/support/error_of.h"

namespace octet {
namespace {

/// The usage error that resolving gives.
std::string refusal(const MeshShape& shape, int ranks) {
  return test::error_of([&] { resolve(shape, ranks); });
}

bool contains(const std::string& text, const std::string& what) {
  return text.find(what) != std::string::npos;
}

TEST(MeshShape, FillsInDpShard) {
  EXPECT_EQ(resolve({.dp_replicate = 2, .dp_shard = 0}, 8).dp_shard, 4);
  EXPECT_EQ(resolve({.dp_shard = 0}, 3).dp_shard, 3);
  EXPECT_EQ(resolve({.dp_replicate = 2, .dp_shard = 4}, 8).dp_shard, 4);
}

TEST(MeshShape, RefusesAWrongProductWithItsNumbers) {
  const std::string text = refusal({.dp_replicate = 2, .dp_shard = 4}, 4);
  EXPECT_TRUE(contains(text, "dp_replicate 2")) << text;
  EXPECT_TRUE(contains(text, "dp_shard 4")) << text;
  EXPECT_TRUE(contains(text, "4 ranks")) << text;
  EXPECT_TRUE(contains(refusal({.dp_replicate = 2, .dp_shard = 0}, 3), "3 ranks"));
  EXPECT_TRUE(contains(refusal({.dp_shard = 1 << 30}, 1), "1 rank,"));
  EXPECT_TRUE(contains(refusal({.dp_replicate = 1 << 16, .dp_shard = 1 << 16}, 1), "1 rank,"));
}

TEST(MeshShape, RefusesDegreesBelowOne) {
  EXPECT_TRUE(contains(refusal({.dp_replicate = 0}, 1), "parallel.dp_replicate is 0"));
  EXPECT_TRUE(contains(refusal({.dp_shard = -1}, 1), "parallel.dp_shard is -1"));
  EXPECT_TRUE(contains(refusal({.tp = 0}, 1), "parallel.tp is 0"));
  EXPECT_TRUE(contains(refusal({.dp_shard = 0}, 0), "do not make 0 ranks"));
}

TEST(MeshShape, RefusesWhatIsNotThereYet) {
  EXPECT_TRUE(contains(refusal({.cp = 2}, 2), "parallel.cp is 2, but context parallelism is not available yet"));
}

TEST(MeshShape, CoordinatesAreRowMajorWithTpInnermost) {
  const MeshShape shape{.pp = 2, .dp_replicate = 3, .dp_shard = 2, .cp = 2, .tp = 2};
  EXPECT_EQ(coordinates(shape, 0), (MeshCoordinates{}));
  EXPECT_EQ(coordinates(shape, 1), (MeshCoordinates{.tp = 1}));
  EXPECT_EQ(coordinates(shape, 2), (MeshCoordinates{.cp = 1}));
  EXPECT_EQ(coordinates(shape, 4), (MeshCoordinates{.dp_shard = 1}));
  EXPECT_EQ(coordinates(shape, 8), (MeshCoordinates{.dp_replicate = 1}));
  EXPECT_EQ(coordinates(shape, 24), (MeshCoordinates{.pp = 1}));
  EXPECT_EQ(coordinates(shape, 47), (MeshCoordinates{1, 2, 1, 1, 1}));
}

TEST(MeshShape, GroupsAreInTheOrderOfTheirFirstRanks) {
  const MeshShape shape{.pp = 2, .dp_replicate = 2, .tp = 2};
  using Groups = std::vector<std::vector<int>>;
  EXPECT_EQ(groups_of(mesh_group(GroupKind::pp), shape), (Groups{{0, 4}, {1, 5}, {2, 6}, {3, 7}}));
  EXPECT_EQ(groups_of(mesh_group(GroupKind::stage_replica), shape), (Groups{{0, 1}, {2, 3}, {4, 5}, {6, 7}}));
  for (const MeshGroup& kind : mesh_groups) {
    for (const std::vector<int>& group : groups_of(kind, shape)) {
      for (const int rank : group) EXPECT_EQ(ranks_of(kind, shape, rank), group) << kind.name;
    }
  }
}

/// World ranks of a group's members, in the group's order.
std::vector<std::int32_t> members(Communicator& group, int world_rank) {
  std::vector<std::int32_t> ranks(static_cast<std::size_t>(group.size()));
  group.all_gather(&world_rank, ranks.data(), 1, DType::i32);
  return ranks;
}

/// `n` ranks from `first` on, `stride` apart.
std::vector<std::int32_t> every(int first, int stride, int n) {
  std::vector<std::int32_t> ranks;
  ranks.reserve(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) ranks.push_back(first + i * stride);
  return ranks;
}

TEST(Mesh, GroupsOfAllWaysToReplicate) {
  const auto stream = cpu_device().make_stream();
  const int size = make_mpi_communicator(*stream, "world")->size();
  for (int replicas = 1; replicas <= size; ++replicas) {
    if (size % replicas != 0) continue;
    const int shards = size / replicas;
    Mesh mesh(make_mpi_communicator(*stream, "world"), {.dp_replicate = replicas, .dp_shard = 0});
    const int rank = mesh.world().rank();
    EXPECT_EQ(mesh.shape().dp_shard, shards);
    EXPECT_EQ(mesh.coordinates().dp_replicate, rank / shards);
    EXPECT_EQ(mesh.coordinates().dp_shard, rank % shards);
    EXPECT_EQ(members(mesh.fsdp(), rank), every(rank / shards * shards, 1, shards));
    EXPECT_EQ(members(mesh.dp_replicate(), rank), every(rank % shards, shards, replicas));
    EXPECT_EQ(members(mesh.dp(), rank), every(0, 1, size));
    for (Communicator* single : {&mesh.pp(), &mesh.cp(), &mesh.tp()}) EXPECT_EQ(single->size(), 1) << single->name();
    EXPECT_EQ(mesh.fsdp().name(), "dp_shard");
    EXPECT_EQ(mesh.dp_replicate().name(), "dp_replicate");
    EXPECT_EQ(mesh.dp().name(), "dp");
    EXPECT_EQ(&mesh.losses(), &mesh.dp());
    EXPECT_EQ(mesh.find("dp"), &mesh.dp());
    EXPECT_EQ(mesh.find("dp_shard"), &mesh.fsdp());
    EXPECT_EQ(mesh.find("losses"), nullptr) << "where it is called dp";
    EXPECT_EQ(&mesh.stage_replica(), &mesh.replica());
  }
}

TEST(Mesh, OfOneRankNeedsNoMpi) {
  const auto stream = cpu_device().make_stream();
  Mesh mesh(make_self_communicator(*stream, "world"), {});
  EXPECT_EQ(mesh.dp().size(), 1);
  EXPECT_EQ(mesh.coordinates(), MeshCoordinates{});
}

}  // namespace
}  // namespace octet
