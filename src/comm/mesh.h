#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

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
/// not there yet (cp above 1), or the product is not `ranks`.
MeshShape resolve(const MeshShape& shape, int ranks);

// These are of a resolved shape: every degree is at least 1.

/// Row-major: pp outermost, tp innermost, so that the ranks of a tp group are neighbours (of one node).
MeshCoordinates coordinates(const MeshShape& shape, int rank);

/// A kind of group: the ranks that differ in some coordinates alone, in their order.
struct MeshGroup {
  const char* name;       ///< what users see in traces and messages
  MeshCoordinates along;  ///< 1 for these coordinates, 0 for the others
  /// Another name, used where one of the dimensions marked in `apart` is larger than 1: it distinguishes the group from
  /// one that has the same ranks in other shapes. None: always `name`.
  const char* name_apart{};
  MeshCoordinates apart{};

  const char* name_in(const MeshShape& shape) const {
    const bool is_apart = (apart.pp == 1 && shape.pp > 1) || (apart.cp == 1 && shape.cp > 1);
    return is_apart ? name_apart : name;
  }
};

enum class GroupKind : std::uint8_t { world, pp, dp_replicate, fsdp, cp, tp, dp, replica, losses, stage_replica };

/// All that a mesh has, in the order in which they are made. Those of the same name in a shape are one group.
inline constexpr std::array<MeshGroup, 10> mesh_groups{{
    {"world", {1, 1, 1, 1, 1}},
    {"pp", {.pp = 1}},
    {"dp_replicate", {.dp_replicate = 1}},
    {"dp_shard", {.dp_shard = 1, .cp = 1}, "dp_shard_cp", {.cp = 1}},
    {"cp", {.cp = 1}},
    {"tp", {.tp = 1}},
    {"dp", {.dp_replicate = 1, .dp_shard = 1}},
    {"replica", {.pp = 1, .dp_shard = 1, .cp = 1, .tp = 1}},
    {"dp", {.pp = 1, .dp_replicate = 1, .dp_shard = 1, .cp = 1}, "losses", {.pp = 1, .cp = 1}},
    {"replica", {.dp_shard = 1, .cp = 1, .tp = 1}, "stage_replica", {.pp = 1}},
}};

constexpr const MeshGroup& mesh_group(GroupKind kind) {
  return mesh_groups[static_cast<std::size_t>(kind)];
}

/// The group that has this name in that shape; null if none has.
const MeshGroup* find_group(std::string_view name, const MeshShape& shape);

/// The ranks of the group of that kind to which `rank` belongs.
std::vector<int> ranks_of(const MeshGroup& group, const MeshShape& shape, int rank);

/// For each of mesh_groups the index of the first group that has the same ranks in this shape, which may be itself.
std::array<std::size_t, mesh_groups.size()> first_of_equals(const MeshShape& shape);

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
  /// dp_shard × cp: the ranks between which FSDP shards. Those of a cp group have different tokens of the same
  /// sequences and the same weights, so that a weight's pieces and its gradient's sum go over both.
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
