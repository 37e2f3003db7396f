// Groups of a mesh that have the same ranks are one communicator of MPI with several names.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <string>
#include <vector>

#include "src/comm/mesh.h"
#include "src/comm/mpi/mpi_communicator.h"
#include "src/comm/trace.h"

namespace {
int communicators_made = 0;
}

/// In place of MPI's own, which have a second name for this purpose (MPI 4.0, 15.2).
extern "C" int MPI_Comm_idup(MPI_Comm comm, MPI_Comm* copy, MPI_Request* request) {
  ++communicators_made;
  return PMPI_Comm_idup(comm, copy, request);
}
extern "C" int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* part) {
  ++communicators_made;
  return PMPI_Comm_split(comm, color, key, part);
}

namespace octet {
namespace {

using Names = std::vector<std::string>;

/// Of each group the name of the first of its equals, in the order of mesh_groups.
Names first_names(const MeshShape& shape) {
  Names names;
  for (const std::size_t i : first_of_equals(shape)) names.emplace_back(mesh_groups[i].name);
  return names;
}

TEST(MeshSharing, RanksOfEveryGroup) {
  const MeshShape shape{.dp_replicate = 2, .dp_shard = 2, .tp = 3};
  const auto of = [&](const char* name, int rank) { return ranks_of(*find_group(name, shape), shape, rank); };
  using Ranks = std::vector<int>;
  EXPECT_EQ(of("world", 5), (Ranks{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(of("tp", 5), (Ranks{3, 4, 5}));
  EXPECT_EQ(of("dp_shard", 5), (Ranks{2, 5}));
  EXPECT_EQ(of("dp_replicate", 5), (Ranks{5, 11}));
  EXPECT_EQ(of("dp", 5), (Ranks{2, 5, 8, 11}));
  EXPECT_EQ(of("replica", 8), (Ranks{6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(of("pp", 8), (Ranks{8}));
}

TEST(MeshSharing, RanksOfEveryGroupWithStagesAndContextParts) {
  const MeshShape shape{.pp = 2, .dp_replicate = 2, .dp_shard = 2, .cp = 2, .tp = 2};
  const auto of = [&](GroupKind kind) { return ranks_of(mesh_group(kind), shape, 5); };  // of pp 0, cp 0, tp 1
  using Ranks = std::vector<int>;
  EXPECT_EQ(of(GroupKind::pp), (Ranks{5, 21}));
  EXPECT_EQ(of(GroupKind::fsdp), (Ranks{1, 3, 5, 7}));
  EXPECT_EQ(of(GroupKind::cp), (Ranks{5, 7}));
  EXPECT_EQ(of(GroupKind::dp), (Ranks{1, 5, 9, 13}));
  EXPECT_EQ(of(GroupKind::replica), (Ranks{0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23}));
  EXPECT_EQ(of(GroupKind::losses), (Ranks{1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31}));
  EXPECT_EQ(of(GroupKind::stage_replica), (Ranks{0, 1, 2, 3, 4, 5, 6, 7}));
}

/// Users know dp_shard and dp; a group of other ranks than theirs must not be called so.
TEST(MeshSharing, ANameIsOneGroupInEveryShape) {
  for (const int pp : {1, 2}) {
    for (const int cp : {1, 2}) {
      const MeshShape shape{.pp = pp, .dp_replicate = 2, .dp_shard = 3, .cp = cp, .tp = 2};
      for (const MeshGroup& group : mesh_groups) {
        const std::string name = group.name_in(shape);
        EXPECT_EQ(ranks_of(group, shape, 7), ranks_of(*find_group(name, shape), shape, 7)) << name;
        EXPECT_TRUE(pp * cp > 1 || name == group.name) << name;
      }
      EXPECT_EQ(find_group("of no mesh", shape), nullptr);
      EXPECT_EQ(find_group("dp_shard_cp", shape) != nullptr, cp > 1);
      EXPECT_EQ(find_group("losses", shape) != nullptr, pp * cp > 1);
      EXPECT_EQ(find_group("stage_replica", shape) != nullptr, pp > 1);
    }
  }
}

TEST(MeshSharing, EqualGroupsAreFound) {
  // In the order world, pp, dp_replicate, dp_shard, cp, tp, dp, replica, dp (of the losses), replica (of the stage).
  EXPECT_EQ(first_names({.dp_shard = 8}),
            (Names{"world", "pp", "pp", "world", "pp", "pp", "world", "world", "world", "world"}));
  EXPECT_EQ(first_names({.dp_replicate = 8}),
            (Names{"world", "pp", "world", "pp", "pp", "pp", "world", "pp", "world", "pp"}));
  EXPECT_EQ(first_names({.tp = 8}), (Names{"world", "pp", "pp", "pp", "pp", "world", "pp", "world", "pp", "world"}));
  EXPECT_EQ(first_names({.dp_replicate = 2, .dp_shard = 2}),
            (Names{"world", "pp", "dp_replicate", "dp_shard", "pp", "pp", "world", "dp_shard", "world", "dp_shard"}));
  EXPECT_EQ(first_names({.dp_shard = 2, .tp = 2}),
            (Names{"world", "pp", "pp", "dp_shard", "pp", "tp", "dp_shard", "world", "dp_shard", "world"}));
  EXPECT_EQ(first_names({.dp_replicate = 2, .dp_shard = 2, .tp = 2}),
            (Names{"world", "pp", "dp_replicate", "dp_shard", "pp", "tp", "dp", "replica", "dp", "replica"}));
  EXPECT_EQ(first_names({}), Names(mesh_groups.size(), "world"));
}

TEST(MeshSharing, AnMpiCommunicatorForEachSetOfRanks) {
  const auto stream = cpu_device().make_stream();
  auto world = make_mpi_communicator(*stream, "world");
  const int size = world->size();
  struct Case {
    MeshShape shape;
    int made;  ///< beside the world's; one of them for all groups of one rank
  };
  std::vector<Case> cases{{{.dp_shard = size}, size > 1}, {{.dp_replicate = size}, size > 1}, {{.tp = size}, size > 1}};
  if (size == 4) {
    cases.push_back({{.dp_replicate = 2, .dp_shard = 2}, 3});
    cases.push_back({{.dp_replicate = 2, .tp = 2}, 3});
    cases.push_back({{.dp_shard = 2, .tp = 2}, 3});
  }
  for (const Case& c : cases) {
    auto copy = world->split(0, world->rank(), "world");
    communicators_made = 0;
    const Mesh mesh(std::move(copy), c.shape);
    EXPECT_EQ(communicators_made, c.made) << c.shape.dp_replicate << " x " << c.shape.dp_shard << " x " << c.shape.tp;
  }
}

TEST(MeshSharing, EveryGroupIsTracedByItsOwnName) {
  CommTrace trace;
  const auto stream = cpu_device().make_stream();
  Mesh mesh(make_traced(make_mpi_communicator(*stream, "world"), &trace), {.dp_shard = 0});
  std::int32_t x = 1;
  for (Communicator* group : {&mesh.world(), &mesh.dp(), &mesh.fsdp(), &mesh.replica()}) {
    const int size = mesh.world().size();
    x = 1;
    group->all_reduce(&x, 1, DType::i32, ReduceOp::sum);
    EXPECT_EQ(x, size) << group->name();
    EXPECT_EQ(trace.records().back().group, group->name());
    EXPECT_EQ(trace.records().back().ranks, size);
  }
  for (const char* name : {"world", "dp", "dp_shard", "replica"}) EXPECT_EQ(trace.calls("all_reduce_sum", name), 1);
  mesh.tp().all_reduce(&x, 1, DType::i32, ReduceOp::sum);
  EXPECT_EQ(trace.records().back().group, "tp");
  EXPECT_EQ(trace.records().back().ranks, 1);
}

}  // namespace
}  // namespace octet
