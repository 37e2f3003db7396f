#include "src/train/plan/plan_run.h"

#include <algorithm>

#include "src/train/plan/dry_run.h"
#include "src/train/plan/nccl_needs.h"
#include "src/train/step/model_state.h"

namespace octet {
namespace {

/// More micro-batches than two take no more memory.
RunConfig with_two_micro_batches(const RunConfig& config, const MeshShape& mesh) {
  RunConfig few = config;
  const std::int64_t at_once = config.train.micro_batch * mesh.dp_replicate * mesh.dp_shard;
  few.train.global_batch = std::min(config.train.global_batch, 2 * at_once);
  return few;
}

}  // namespace

MeshShape mesh_shape(const ParallelConfig& p) {
  return {.pp = static_cast<int>(p.pp),
          .dp_replicate = static_cast<int>(p.dp_replicate),
          .dp_shard = static_cast<int>(p.dp_shard),
          .cp = static_cast<int>(p.cp),
          .tp = static_cast<int>(p.tp)};
}

MemoryPlan plan_run(const RunConfig& config, const MeshShape& mesh, int rank, int ranks_on_node,
                    DeviceType workspaces) {
  DryRun dry(with_two_micro_batches(config, mesh), mesh, rank, workspaces);
  for (int i = 0; i < 2; ++i) dry.step();  // what the first one has taken, the second finds there
  if (dry.trainer().has_validation()) dry.validate();
  MemoryPlan plan;
  for (int p = 0; p < static_cast<int>(Purpose::count); ++p) {
    plan[static_cast<Purpose>(p)] = dry.ledger().usage(static_cast<Purpose>(p)).peak;
  }
  plan.nccl = nccl_needs(dry.groups(), config, ranks_on_node);
  plan.host = checkpoint_host_bytes(dry.trainer().model(), config, mesh);
  return plan;
}

}  // namespace octet
