#include "src/comm/mesh_shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "src/base/error.h"

namespace octet {
namespace {

void check_degree(const char* key, int degree, int least) {
  if (degree < least) throw usage_error("comm", "parallel.{} is {}, expected at least {}", key, degree, least);
}

void check_available(const char* key, int degree, const char* meaning) {
  if (degree > 1) {
    throw usage_error("comm", "parallel.{} is {}, but {} is not available yet; expected 1", key, degree, meaning);
  }
}

int size_of(const MeshShape& shape) {
  return shape.pp * shape.dp_replicate * shape.dp_shard * shape.cp * shape.tp;
}

/// The first rank of the group of that kind to which `rank` belongs: the one at 0 along the group's dimensions.
int first_of(const MeshGroup& group, const MeshShape& shape, int rank) {
  const MeshCoordinates c = coordinates(shape, rank);
  int first = c.pp * (1 - group.along.pp);
  first = first * shape.dp_replicate + c.dp_replicate * (1 - group.along.dp_replicate);
  first = first * shape.dp_shard + c.dp_shard * (1 - group.along.dp_shard);
  first = first * shape.cp + c.cp * (1 - group.along.cp);
  return first * shape.tp + c.tp * (1 - group.along.tp);
}

}  // namespace

MeshShape resolve(const MeshShape& shape, int ranks) {
  check_degree("pp", shape.pp, 1);
  check_degree("dp_replicate", shape.dp_replicate, 1);
  check_degree("dp_shard", shape.dp_shard, 0);
  check_degree("cp", shape.cp, 1);
  check_degree("tp", shape.tp, 1);
  check_available("cp", shape.cp, "context parallelism");

  const std::int64_t others = std::int64_t{shape.pp} * shape.dp_replicate * shape.cp * shape.tp;
  MeshShape full = shape;
  if (shape.dp_shard == 0 && ranks % others == 0) full.dp_shard = static_cast<int>(ranks / others);
  if (others * full.dp_shard != ranks || ranks < 1) {
    const std::string shard = shape.dp_shard == 0 ? "the rest" : std::to_string(shape.dp_shard);
    throw usage_error("comm",
                      "parallel: pp {} x dp_replicate {} x dp_shard {} x cp {} x tp {} do not make {} rank{}, the "
                      "number that was started",
                      shape.pp, shape.dp_replicate, shard, shape.cp, shape.tp, ranks, ranks == 1 ? "" : "s");
  }
  return full;
}

std::string layout_text(const MeshShape& shape) {
  return fmt::format("{}dp_replicate {} x dp_shard {} x tp {}", shape.pp == 1 ? "" : fmt::format("pp {} x ", shape.pp),
                     shape.dp_replicate, shape.dp_shard, shape.tp);
}

MeshCoordinates coordinates(const MeshShape& shape, int rank) {
  MeshCoordinates c;
  c.tp = rank % shape.tp;
  rank /= shape.tp;
  c.cp = rank % shape.cp;
  rank /= shape.cp;
  c.dp_shard = rank % shape.dp_shard;
  rank /= shape.dp_shard;
  c.dp_replicate = rank % shape.dp_replicate;
  c.pp = rank / shape.dp_replicate;
  return c;
}

std::vector<int> ranks_of(const MeshGroup& group, const MeshShape& shape, int rank) {
  const int first = first_of(group, shape, rank);
  std::vector<int> ranks;
  for (int r = first; r < size_of(shape); ++r) {
    if (first_of(group, shape, r) == first) ranks.push_back(r);
  }
  return ranks;
}

std::vector<std::vector<int>> groups_of(const MeshGroup& group, const MeshShape& shape) {
  std::map<int, std::vector<int>> by_first;
  for (int r = 0; r < size_of(shape); ++r) by_first[first_of(group, shape, r)].push_back(r);
  std::vector<std::vector<int>> groups;
  for (auto& [first, ranks] : by_first) groups.push_back(std::move(ranks));
  return groups;
}

/// What holds for rank 0 holds for every rank: the shape alone decides.
std::array<std::size_t, mesh_groups.size()> first_of_equals(const MeshShape& shape) {
  std::array<std::size_t, mesh_groups.size()> first{};
  for (std::size_t i = 0; i < mesh_groups.size(); ++i) {
    while (ranks_of(mesh_groups[first[i]], shape, 0) != ranks_of(mesh_groups[i], shape, 0)) ++first[i];
  }
  return first;
}

const MeshGroup* find_group(std::string_view name, const MeshShape& shape) {
  const auto* const found =
      std::ranges::find_if(mesh_groups, [&](const MeshGroup& g) { return name == g.name_in(shape); });
  return found == mesh_groups.end() ? nullptr : found;
}

}  // namespace octet
