#include "src/comm/mesh.h"

#include <cstdint>
#include <utility>

#include "src/base/error.h"

namespace octet {
namespace {

/// Number of `c` in the grid of `shape`; the inverse of coordinates().
int rank_of(const MeshShape& shape, const MeshCoordinates& c) {
  return (((c.pp * shape.dp_replicate + c.dp_replicate) * shape.dp_shard + c.dp_shard) * shape.cp + c.cp) * shape.tp +
         c.tp;
}

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
  check_available("pp", shape.pp, "pipeline parallelism");
  check_available("cp", shape.cp, "context parallelism");

  const std::int64_t others = std::int64_t{shape.pp} * shape.dp_replicate * shape.cp * shape.tp;
  MeshShape full = shape;
  if (shape.dp_shard == 0 && ranks % others == 0) full.dp_shard = static_cast<int>(ranks / others);
  if (others * full.dp_shard != ranks) {
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

Mesh::Mesh(std::unique_ptr<Communicator> world, const MeshShape& shape)
    : shape_(resolve(shape, world->size())),
      coordinates_(octet::coordinates(shape_, world->rank())),
      world_(std::move(world)) {
  const int rank = world_->rank();
  // Ranks that differ only in the zeroed coordinates get the same colour: the number of their first.
  const auto group = [&](MeshCoordinates first, const char* name) {
    return world_->split(rank_of(shape_, first), rank, name);
  };
  MeshCoordinates c = coordinates_;
  c.pp = 0;
  pp_ = group(c, "pp");
  c = coordinates_;
  c.dp_replicate = 0;
  dp_replicate_ = group(c, "dp_replicate");
  c = coordinates_;
  c.dp_shard = 0;
  dp_shard_ = group(c, "dp_shard");
  c = coordinates_;
  c.cp = 0;
  cp_ = group(c, "cp");
  c = coordinates_;
  c.tp = 0;
  tp_ = group(c, "tp");
  c = coordinates_;
  c.dp_replicate = c.dp_shard = 0;
  dp_ = group(c, "dp");
  c = coordinates_;
  c.dp_shard = c.cp = c.tp = 0;
  replica_ = group(c, "replica");
}

}  // namespace octet
