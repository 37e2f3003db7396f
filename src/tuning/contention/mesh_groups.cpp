#include "src/tuning/contention/mesh_groups.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string>

#include "src/base/error.h"

namespace octet {
namespace {

/// A rank's place in the mesh, whose degrees are complete.
struct RankPlace {
  int stage, replica, shard, tensor;
};

/// The group of a rank: the ranks that agree in what the dimension leaves fixed.
int group_of(Dimension dimension, const RankPlace& at, const MeshDegrees& degrees, int shards) {
  switch (dimension) {
    case Dimension::world:
      return 0;
    case Dimension::pp:
      return (at.replica * shards + at.shard) * degrees.tp + at.tensor;
    case Dimension::dp_replicate:
      return (at.stage * shards + at.shard) * degrees.tp + at.tensor;
    case Dimension::dp_shard:
      return (at.stage * degrees.dp_replicate + at.replica) * degrees.tp + at.tensor;
    case Dimension::dp:
      return at.stage * degrees.tp + at.tensor;
    case Dimension::tp:
      return (at.stage * degrees.dp_replicate + at.replica) * shards + at.shard;
  }
  throw internal_error("tuning", "dimension {} of the mesh has no groups", static_cast<int>(dimension));
}

}  // namespace

Dimension parse_dimension(std::string_view text) {
  if (const auto found = value_named<Dimension>(text)) return *found;
  throw usage_error("tuning", "unknown dimension \"{}\" of the mesh; expected {}", text,
                    fmt::join(names_of(Dimension{}), ", "));
}

std::vector<std::vector<int>> groups_of(Dimension dimension, const MeshDegrees& d, int ranks) {
  const int one_shard = d.pp * d.dp_replicate * d.tp;
  if (d.pp < 1 || d.dp_replicate < 1 || d.tp < 1 || ranks % one_shard != 0) {
    throw usage_error("tuning", "pp {} x dp_replicate {} x tp {} does not divide {} ranks", d.pp, d.dp_replicate, d.tp,
                      ranks);
  }
  const int shards = ranks / one_shard;
  std::vector<std::vector<int>> groups;
  for (int rank = 0; rank < ranks; ++rank) {
    const RankPlace at{.stage = rank / (d.tp * shards * d.dp_replicate),
                       .replica = rank / (d.tp * shards) % d.dp_replicate,
                       .shard = rank / d.tp % shards,
                       .tensor = rank % d.tp};
    const auto group = static_cast<std::size_t>(group_of(dimension, at, d, shards));
    if (groups.size() <= group) groups.resize(group + 1);
    groups[group].push_back(rank);
  }
  if (groups.front().size() < 2) {
    throw usage_error("tuning",
                      "groups of {} have one rank with pp {}, dp_replicate {}, dp_shard {}, tp {}: they send nothing",
                      name_of(dimension), d.pp, d.dp_replicate, shards, d.tp);
  }
  return groups;
}

}  // namespace octet
