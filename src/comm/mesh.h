#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string_view>

#include "src/comm/communicator.h"
#include "src/comm/mesh_shape.h"

namespace octet {

/// The ranks as a grid of five dimensions, with groups along one of them or several. All are made at construction, in
/// one fixed order. Groups of equal ranks are aliases of the first of them (Communicator::alias): they are on one
/// stream, and every rank makes the calls of a step in the same order. Main thread only.
class Mesh {
 public:
  /// Collective over `world`. Throws what resolve() throws, before any communication.
  Mesh(std::unique_ptr<Communicator> world, const MeshShape& shape);

  const MeshShape& shape() const { return shape_; }
  const MeshCoordinates& coordinates() const { return coordinates_; }

  Communicator& world() { return group(GroupKind::world); }
  Communicator& pp() { return group(GroupKind::pp); }
  Communicator& dp_replicate() { return group(GroupKind::dp_replicate); }
  /// dp_shard × cp, "dp_shard" in traces and settings: the ranks between which FSDP shards. Those of a cp group have
  /// different tokens of the same sequences and the same weights, so that a weight's pieces and its gradient's sum go
  /// over both.
  Communicator& fsdp() { return group(GroupKind::fsdp); }
  Communicator& cp() { return group(GroupKind::cp); }
  Communicator& tp() { return group(GroupKind::tp); }
  /// dp_replicate × dp_shard: the ranks that see different sequences. Its rank is the index of this rank's part of a
  /// batch.
  Communicator& dp() { return group(GroupKind::dp); }
  /// pp × dp_shard × cp × tp: the ranks that hold one copy of the model between them.
  Communicator& replica() { return group(GroupKind::replica); }
  /// pp × dp_replicate × dp_shard × cp: the ranks whose losses are different, or none (stages without the head). Those
  /// of a tp group compute equal ones.
  Communicator& losses() { return group(GroupKind::losses); }
  /// dp_shard × cp × tp: the ranks that hold one copy of a stage's weights between them.
  Communicator& stage_replica() { return group(GroupKind::stage_replica); }
  /// The group that has this name in this shape; null if none has.
  Communicator* find(std::string_view name);

 private:
  Communicator& group(GroupKind kind) { return *groups_[static_cast<std::size_t>(kind)]; }
  /// Makes the group under its own name: an alias, or a part of the world.
  std::shared_ptr<Communicator> make(std::size_t i, std::size_t first_of_equals);

  MeshShape shape_;
  MeshCoordinates coordinates_;
  /// The groups in the order of mesh_groups; those of one name are one.
  std::array<std::shared_ptr<Communicator>, mesh_groups.size()> groups_;
};

}  // namespace octet
