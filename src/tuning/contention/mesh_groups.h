#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "src/base/named_enum.h"

namespace octet {

/// Whose groups communicate: those of one dimension of the mesh, all at the same time. `dp` is dp_replicate x dp_shard
/// of a stage.
enum class Dimension { world, pp, dp_replicate, dp_shard, dp, tp };

constexpr auto names_of(Dimension) {
  return std::to_array<std::string_view>({"world", "pp", "dp_replicate", "dp_shard", "dp", "tp"});
}
/// Throws a usage error that lists the names.
Dimension parse_dimension(std::string_view text);

/// Degrees of the mesh pp x dp_replicate x dp_shard x tp, tp innermost; dp_shard is what the ranks leave.
struct MeshDegrees {
  int pp = 1;
  int dp_replicate = 1;
  int tp = 1;
};

/// The ranks of each group, ascending. Throws a usage error where the degrees do not divide `ranks`, or where groups of
/// this dimension are of one rank.
std::vector<std::vector<int>> groups_of(Dimension dimension, const MeshDegrees& degrees, int ranks);

}  // namespace octet
