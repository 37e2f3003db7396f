#include "src/tuning/contention/mesh_groups.h"

#include <fmt/ranges.h>

#include <cstdint>

#include "src/base/error.h"

namespace octet {

Dimension parse_dimension(std::string_view text) {
  if (const auto found = value_named<Dimension>(text)) return *found;
  throw usage_error("tuning", "unknown dimension \"{}\" of the mesh; expected {}", text,
                    fmt::join(names_of(Dimension{}), ", "));
}

std::vector<std::vector<int>> groups_of(Dimension dimension, MeshShape mesh, int ranks) {
  const std::int64_t one_shard = std::int64_t{mesh.pp} * mesh.dp_replicate * mesh.tp;
  if (mesh.pp < 1 || mesh.dp_replicate < 1 || mesh.tp < 1 || ranks % one_shard != 0) {
    throw usage_error("tuning", "pp {} x dp_replicate {} x tp {} does not divide {} ranks", mesh.pp, mesh.dp_replicate,
                      mesh.tp, ranks);
  }
  mesh.dp_shard = static_cast<int>(ranks / one_shard);
  std::vector<std::vector<int>> groups = groups_of(*find_group(name_of(dimension), mesh), mesh);
  if (groups.front().size() < 2) {
    throw usage_error("tuning",
                      "groups of {} have one rank with pp {}, dp_replicate {}, dp_shard {}, tp {}: they send nothing",
                      name_of(dimension), mesh.pp, mesh.dp_replicate, mesh.dp_shard, mesh.tp);
  }
  return groups;
}

}  // namespace octet
