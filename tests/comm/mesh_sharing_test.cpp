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
  const auto of = [&](const char* name, int rank) {
    const auto group = std::ranges::find(mesh_groups, std::string(name), &MeshGroup::name);
    return ranks_of(*group, shape, rank);
  };
  using Ranks = std::vector<int>;
  EXPECT_EQ(of("world", 5), (Ranks{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(of("tp", 5), (Ranks{3, 4, 5}));
  EXPECT_EQ(of("dp_shard", 5), (Ranks{2, 5}));
  EXPECT_EQ(of("dp_replicate", 5), (Ranks{5, 11}));
  EXPECT_EQ(of("dp", 5), (Ranks{2, 5, 8, 11}));
  EXPECT_EQ(of("replica", 8), (Ranks{6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(of("pp", 8), (Ranks{8}));
}

TEST(MeshSharing, EqualGroupsAreFound) {
  // In the order world, pp, dp_replicate, dp_shard, cp, tp, dp, replica.
  EXPECT_EQ(first_names({.dp_shard = 8}), (Names{"world", "pp", "pp", "world", "pp", "pp", "world", "world"}));
  EXPECT_EQ(first_names({.dp_replicate = 8}), (Names{"world", "pp", "world", "pp", "pp", "pp", "world", "pp"}));
  EXPECT_EQ(first_names({.tp = 8}), (Names{"world", "pp", "pp", "pp", "pp", "world", "pp", "world"}));
  EXPECT_EQ(first_names({.dp_replicate = 2, .dp_shard = 2}),
            (Names{"world", "pp", "dp_replicate", "dp_shard", "pp", "pp", "world", "dp_shard"}));
  EXPECT_EQ(first_names({.dp_shard = 2, .tp = 2}),
            (Names{"world", "pp", "pp", "dp_shard", "pp", "tp", "dp_shard", "world"}));
  EXPECT_EQ(first_names({.dp_replicate = 2, .dp_shard = 2, .tp = 2}),
            (Names{"world", "pp", "dp_replicate", "dp_shard", "pp", "tp", "dp", "replica"}));
  EXPECT_EQ(first_names({}), Names(8, "world"));
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
  for (Communicator* group : {&mesh.world(), &mesh.dp(), &mesh.dp_shard(), &mesh.replica()}) {
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
