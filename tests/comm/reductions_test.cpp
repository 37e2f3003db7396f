#include "src/comm/reductions.h"

#include <gtest/gtest.h>

#include "src/comm/mpi/mpi_communicator.h"

namespace octet {
namespace {

/// What every rank has of a quantity: a bit for each part that is not another rank's too, so that a sum over the right
/// ranks has every bit once.
template <typename T>
T summed(Communicator& group, T mine) {
  group.all_reduce(&mine, 1, DType::i32, ReduceOp::sum);
  return mine;
}

std::vector<MeshShape> shapes_of(int ranks) {
  std::vector<MeshShape> all;
  for (int replicas = 1; replicas <= ranks; ++replicas) {
    for (int tp = 1; tp * replicas <= ranks; ++tp) {
      if (ranks % (tp * replicas) == 0) all.push_back({.dp_replicate = replicas, .dp_shard = 0, .tp = tp});
    }
  }
  return all;
}

TEST(Reductions, MeetEveryPartOnce) {
  const auto stream = cpu_device().make_stream();
  const int ranks = make_mpi_communicator(*stream, "world")->size();
  for (const MeshShape& shape : shapes_of(ranks)) {
    Mesh mesh(make_mpi_communicator(*stream, "world"), shape);
    const MeshCoordinates c = mesh.coordinates();
    const MeshShape& s = mesh.shape();
    const auto bit = [](int i) { return std::int32_t{1} << i; };
    const auto all = [&](int parts) { return bit(parts) - 1; };
    const int data = c.dp_replicate * s.dp_shard + c.dp_shard, piece = c.dp_shard * s.tp + c.tp;
    EXPECT_EQ(summed(reductions::loss(mesh), bit(data)), all(s.dp_replicate * s.dp_shard));
    EXPECT_EQ(summed(reductions::gradient_norm(mesh), bit(piece)), all(s.dp_shard * s.tp));
    EXPECT_EQ(summed(reductions::weight_amax(mesh), bit(piece)), all(s.dp_shard * s.tp));
    EXPECT_EQ(summed(reductions::gradients_of_replicas(mesh), bit(c.dp_replicate)), all(s.dp_replicate));
    EXPECT_EQ(summed(reductions::gradients_not_cut(mesh), bit(c.tp)), all(s.tp));
    EXPECT_EQ(summed(reductions::gathered_weight_amax(mesh), bit(c.tp)), all(s.tp));
    EXPECT_EQ(summed(reductions::cast_amax(mesh), bit(mesh.world().rank())), all(ranks));
    // Counters of gradients are of pieces, in every replica the same, and are summed over all ranks.
    const std::int32_t counted = reductions::counts_gradients(mesh) ? bit(piece) : 0;
    EXPECT_EQ(summed(mesh.world(), counted), all(s.dp_shard * s.tp));
  }
}

}  // namespace
}  // namespace octet
