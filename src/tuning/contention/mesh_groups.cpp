#include "src/tuning/contention/mesh_groups.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string>

#include "src/base/error.h"

namespace octet {
namespace {

/// The group of a rank: the ranks that agree in what the dimension leaves fixed.
int group_of(Dimension dimension, int replica, int shard, int tensor, int shards, int tp) {
  switch (dimension) {
    case Dimension::world:
      return 0;
    case Dimension::dp_replicate:
      return shard * tp + tensor;
    case Dimension::dp_shard:
      return replica * tp + tensor;
    case Dimension::dp:
      return tensor;
    case Dimension::tp:
      return replica * shards + shard;
  }
  throw internal_error("tuning", "dimension {} of the mesh has no groups", static_cast<int>(dimension));
}

}  // namespace

Dimension parse_dimension(std::string_view text) {
  if (const auto found = value_named<Dimension>(text)) return *found;
  throw usage_error("tuning", "unknown dimension \"{}\" of the mesh; expected {}", text,
                    fmt::join(names_of(Dimension{}), ", "));
}

std::vector<std::vector<int>> groups_of(Dimension dimension, const MeshDegrees& degrees, int ranks) {
  const int one_shard = degrees.dp_replicate * degrees.tp;
  if (degrees.dp_replicate < 1 || degrees.tp < 1 || ranks % one_shard != 0) {
    throw usage_error("tuning", "dp_replicate {} x tp {} does not divide {} ranks", degrees.dp_replicate, degrees.tp,
                      ranks);
  }
  const int shards = ranks / one_shard;
  std::vector<std::vector<int>> groups;
  for (int rank = 0; rank < ranks; ++rank) {
    const int tensor = rank % degrees.tp, shard = rank / degrees.tp % shards, replica = rank / (degrees.tp * shards);
    const auto group = static_cast<std::size_t>(group_of(dimension, replica, shard, tensor, shards, degrees.tp));
    if (groups.size() <= group) groups.resize(group + 1);
    groups[group].push_back(rank);
  }
  if (groups.front().size() < 2) {
    throw usage_error("tuning",
                      "groups of {} have one rank with dp_replicate {}, dp_shard {}, tp {}: they send nothing",
                      name_of(dimension), degrees.dp_replicate, shards, degrees.tp);
  }
  return groups;
}

}  // namespace octet
