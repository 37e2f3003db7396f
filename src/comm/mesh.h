#pragma once

#include <memory>

#include "src/comm/communicator.h"

namespace octet {

/// Degrees of parallelism. dp_shard = 0 stands for all the ranks that the other dimensions leave.
struct MeshShape {
  int pp = 1;
  int dp_replicate = 1;
  int dp_shard = 1;
  int cp = 1;
  int tp = 1;

  bool operator==(const MeshShape&) const = default;
};

/// A rank's place: its index in each dimension.
struct MeshCoordinates {
  int pp = 0;
  int dp_replicate = 0;
  int dp_shard = 0;
  int cp = 0;
  int tp = 0;

  bool operator==(const MeshCoordinates&) const = default;
};

/// `shape` with dp_shard filled in. Throws a usage error, with the numbers, when a degree is below 1, asks for what is
/// not there yet (cp, pp above 1), or the product is not `ranks`.
MeshShape resolve(const MeshShape& shape, int ranks);

/// Row-major: pp outermost, tp innermost, so that the ranks of a tp group are neighbours (of one node).
MeshCoordinates coordinates(const MeshShape& shape, int rank);

/// The ranks as a grid of five dimensions, with one group for each dimension: the ranks that differ in that
/// coordinate alone, in its order. All groups are made at construction, in one fixed order. Main thread only.
class Mesh {
 public:
  /// Collective over `world`. Throws what resolve() throws, before any communication.
  Mesh(std::unique_ptr<Communicator> world, const MeshShape& shape);

  const MeshShape& shape() const { return shape_; }
  const MeshCoordinates& coordinates() const { return coordinates_; }

  Communicator& world() { return *world_; }
  Communicator& pp() { return *pp_; }
  Communicator& dp_replicate() { return *dp_replicate_; }
  Communicator& dp_shard() { return *dp_shard_; }
  Communicator& cp() { return *cp_; }
  Communicator& tp() { return *tp_; }
  /// dp_replicate × dp_shard: the ranks that see different data. Its rank is the index of this rank's part of a batch.
  Communicator& dp() { return *dp_; }
  /// dp_shard × cp × tp: the ranks that hold one copy of the weights between them.
  Communicator& replica() { return *replica_; }

 private:
  MeshShape shape_;
  MeshCoordinates coordinates_;
  std::unique_ptr<Communicator> world_, pp_, dp_replicate_, dp_shard_, cp_, tp_, dp_, replica_;
};

}  // namespace octet
