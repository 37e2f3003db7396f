#include "src/comm/mesh.h"

#include <algorithm>
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
  const auto outside = [&](int r) {
    MeshCoordinates c = coordinates(shape, r);
    c.pp *= 1 - group.along.pp;
    c.dp_replicate *= 1 - group.along.dp_replicate;
    c.dp_shard *= 1 - group.along.dp_shard;
    c.cp *= 1 - group.along.cp;
    c.tp *= 1 - group.along.tp;
    return c;
  };
  const int all = shape.pp * shape.dp_replicate * shape.dp_shard * shape.cp * shape.tp;
  std::vector<int> ranks;
  for (int r = 0; r < all; ++r) {
    if (outside(r) == outside(rank)) ranks.push_back(r);
  }
  return ranks;
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

Mesh::Mesh(std::unique_ptr<Communicator> world, const MeshShape& shape)
    : shape_(resolve(shape, world->size())), coordinates_(octet::coordinates(shape_, world->rank())) {
  const auto first = first_of_equals(shape_);
  groups_[0] = std::move(world);
  for (std::size_t i = 1; i < mesh_groups.size(); ++i) groups_[i] = make(i, first[i]);
}

std::shared_ptr<Communicator> Mesh::make(std::size_t i, std::size_t first_of_equals) {
  const char* name = mesh_groups[i].name_in(shape_);
  const auto same_name = static_cast<std::size_t>(find_group(name, shape_) - mesh_groups.data());
  if (same_name < i) return groups_[same_name];
  if (first_of_equals < i) return groups_[first_of_equals]->alias(name);
  const int rank = groups_[0]->rank();
  return groups_[0]->split(ranks_of(mesh_groups[i], shape_, rank).front(), rank, name);
}

}  // namespace octet
