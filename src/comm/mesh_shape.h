#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

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

// What follows is of a resolved shape: every degree is at least 1.

/// "dp_replicate 2 x dp_shard 4 x tp 1", with pp before it where there is more than one stage. Checkpoints record it.
std::string layout_text(const MeshShape& shape);

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

/// The ranks of the group of that kind to which `rank` belongs, ascending.
std::vector<int> ranks_of(const MeshGroup& group, const MeshShape& shape, int rank);

/// All groups of that kind, in the order of their first ranks.
std::vector<std::vector<int>> groups_of(const MeshGroup& group, const MeshShape& shape);

/// For each of mesh_groups the index of the first group that has the same ranks in this shape, which may be itself.
std::array<std::size_t, mesh_groups.size()> first_of_equals(const MeshShape& shape);

}  // namespace octet
