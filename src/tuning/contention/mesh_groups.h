#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "src/base/named_enum.h"
#include "src/comm/mesh_shape.h"

namespace octet {

/// Whose groups communicate: those of that name in the mesh, all at the same time.
enum class Dimension { world, pp, dp_replicate, dp_shard, dp, tp };

constexpr auto names_of(Dimension) {
  return std::to_array<std::string_view>({"world", "pp", "dp_replicate", "dp_shard", "dp", "tp"});
}
/// Throws a usage error that lists the names.
Dimension parse_dimension(std::string_view text);

/// The ranks of each group, ascending. dp_shard is what the other degrees of `mesh` leave of the ranks. Throws a usage
/// error where they do not divide `ranks`, or where groups of this dimension are of one rank.
std::vector<std::vector<int>> groups_of(Dimension dimension, MeshShape mesh, int ranks);

}  // namespace octet
