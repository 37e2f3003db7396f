#include "src/train/plan_run.h"

#include "src/train/model_state.h"
#include "src/train/trainer.h"

namespace octet {

MeshShape mesh_shape(const ParallelConfig& p) {
  return {.pp = static_cast<int>(p.pp),
          .dp_replicate = static_cast<int>(p.dp_replicate),
          .dp_shard = static_cast<int>(p.dp_shard),
          .cp = static_cast<int>(p.cp),
          .tp = static_cast<int>(p.tp)};
}

PlanInput plan_input(const RunConfig& config, const MeshShape& mesh, int tp_rank,
                     const CommunicationNeeds& communication) {
  const std::int64_t per_rank = config.train.global_batch / (mesh.dp_replicate * mesh.dp_shard);
  return {.settings = llama_settings(config, tp_rank),
          .mesh = mesh,
          .fsdp = fsdp_options(config, mesh.dp_shard),
          .micro_batches = per_rank / config.train.micro_batch,
          .buffers_kept = config.nccl.dp_shard.buffers != NcclGroupSettings().buffers,
          .communication = communication,
          .host = checkpoint_host_bytes(config, mesh)};
}

MemoryPlan plan_run(const RunConfig& config, const MeshShape& mesh, int tp_rank,
                    const CommunicationNeeds& communication, Stream& stream) {
  return plan_memory(plan_input(config, mesh, tp_rank, communication), stream);
}

}  // namespace octet
