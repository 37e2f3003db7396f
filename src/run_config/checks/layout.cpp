#include "src/run_config/checks/layout.h"

#include "src/run_config/checks/checks.h"

namespace octet {
namespace {

/// dp_shard takes the ranks that the other dimensions leave.
ParallelConfig mesh_of(const RunConfig& config, std::int64_t ranks, const Origins& origins) {
  ParallelConfig p = config.parallel;
  const std::int64_t of_a_part = p.pp * p.tp;  // ranks that have the same data
  const std::int64_t others = p.dp_replicate * of_a_part;
  if (p.dp_shard == 0 && ranks % p.tp != 0) {
    throw refuse(origins, "parallel.tp", p.tp, "the job has {} ranks, expected a divisor of that number", ranks);
  }
  if (p.dp_shard == 0 && ranks % of_a_part != 0) {
    throw refuse(origins, "parallel.pp", p.pp, "the job has {} ranks{}, expected a divisor of that number",
                 ranks / p.tp, p.tp == 1 ? "" : fmt::format(" for each of {} tp ranks", p.tp));
  }
  if (p.dp_shard == 0 && ranks % others != 0) {
    throw refuse(origins, "parallel.dp_replicate", p.dp_replicate,
                 "the job has {} ranks{}{}, expected a divisor of that number", ranks / of_a_part,
                 p.tp == 1 ? "" : fmt::format(" for each of {} tp ranks", p.tp),
                 p.pp == 1 ? "" : fmt::format(" in each of {} pipeline stages", p.pp));
  }
  if (p.dp_shard == 0) p.dp_shard = ranks / others;
  if (others * p.dp_shard != ranks) {
    const std::string tp = p.tp == 1 ? "" : fmt::format(" x tp {}", p.tp);
    const std::string pp = p.pp == 1 ? "" : fmt::format("pp {} x ", p.pp);
    throw refuse(origins, "parallel.dp_shard", p.dp_shard,
                 "{}dp_replicate {} x dp_shard {}{} = {} ranks, but the job has {}; start {} ranks (mpiexec -n {}) or "
                 "change the mesh (dp_shard 0 takes all)",
                 pp, p.dp_replicate, p.dp_shard, tp, others * p.dp_shard, ranks, others * p.dp_shard,
                 others * p.dp_shard);
  }
  return p;
}

}  // namespace

ParallelConfig resolve_layout(const RunConfig& config, std::int64_t ranks, const Origins& origins) {
  ParallelConfig p = mesh_of(config, ranks, origins);
  check_layout(config, p, origins);
  return p;
}

RunConfig laid_out(RunConfig config, std::int64_t ranks, const Origins& origins) {
  config.parallel = resolve_layout(config, ranks, origins);
  config.nccl.one_rank_groups = config.parallel.one_rank_exchange;
  return config;
}

MeshShape mesh_shape(const ParallelConfig& p) {
  return {.pp = static_cast<int>(p.pp),
          .dp_replicate = static_cast<int>(p.dp_replicate),
          .dp_shard = static_cast<int>(p.dp_shard),
          .cp = static_cast<int>(p.cp),
          .tp = static_cast<int>(p.tp)};
}

}  // namespace octet
