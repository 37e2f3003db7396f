#include "src/train/options/validate.h"

#include "src/ops/recipe.h"
#include "src/parallel/pipeline/pipeline_passes.h"
#include "src/train/options/checks.h"
#include "src/train/options/run_options.h"

namespace octet {

ParallelConfig resolve_layout(const RunConfig& config, std::int64_t ranks, const Origins& origins) {
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
  const bool exchanges = p.dp_shard > 1 || p.one_rank_exchange;
  if (p.whole_gradients != GradientForm::fp32 && !exchanges) {
    throw refuse(origins, "parallel.whole_gradients", p.whole_gradients,
                 "has no effect with parallel.dp_shard = 1: gradients are summed in their fp32 pieces; expected fp32");
  }
  if (p.one_rank_exchange && p.dp_shard > 1) {
    throw refuse(origins, "parallel.one_rank_exchange", "true",
                 "is for shard groups of one rank, this run has {} shards; expected false", p.dp_shard);
  }
  if (p.overlap == AutoBool::yes && p.dp_shard == 1 && !p.one_rank_exchange) {
    throw refuse(origins, "parallel.overlap", p.overlap,
                 "has no effect with parallel.dp_shard = 1: nothing is gathered; expected auto or false");
  }
  if (const std::string why = obstacle_to_graphs(config, p.dp_shard, p.tp);
      config.graphs == AutoBool::yes && !why.empty()) {
    throw refuse(origins, "cuda.graphs", config.graphs, "{}; expected auto or false", why);
  }
  if (const std::string why = obstacle_to_update_beside(config, p.dp_shard, p.tp);
      config.optimizer.beside_forward == AutoBool::yes && !why.empty()) {
    throw refuse(origins, "optimizer.beside_forward", config.optimizer.beside_forward,
                 "{}; expected auto or false, or another recipe: rowwise, rowwise_with_gw_hp, blockwise or delayed",
                 why);
  }
  if (p.zero_with(p.dp_shard) == Zero::three && config.float8.keep_transposed_weights == AutoBool::yes) {
    throw refuse(origins, "float8.keep_transposed_weights", true,
                 "weights are let go after each use, and their copies with them; expected auto or false, or "
                 "parallel.zero 1 or 2");
  }
  check_nccl_groups(config, p, origins);
  const std::int64_t data_parallel = ranks / of_a_part;
  const std::int64_t sequences = config.train.micro_batch * data_parallel;
  if (config.train.global_batch % sequences != 0) {
    throw refuse(origins, "train.global_batch", config.train.global_batch,
                 "expected a multiple of micro_batch {} x {} data-parallel ranks = {}", config.train.micro_batch,
                 data_parallel, sequences);
  }
  if (p.whole_gradients != GradientForm::fp32 && config.train.global_batch == sequences) {
    throw refuse(origins, "parallel.whole_gradients", p.whole_gradients,
                 "has no effect with one micro-batch a step (train.global_batch {}): none is kept for a later one; "
                 "expected fp32",
                 config.train.global_batch);
  }
  const auto micro_batches = static_cast<int>(config.train.global_batch / sequences);
  check_gradient_wire(config, p, micro_batches, origins);
  if (const auto obstacle = obstacle_to(pipeline_shape(p, micro_batches))) {
    throw refuse(origins, obstacle->key, obstacle->value, "{}", obstacle->why);
  }
  return p;
}

std::string obstacle_to_graphs(const RunConfig& c, std::int64_t shards, std::int64_t tp) {
  const auto exchanges = [](std::string_view what) {
    return fmt::format("{}, ranks exchange within the pass of a micro-batch, which is not captured", what);
  };
  if (shards > 1) return exchanges(fmt::format("with parallel.dp_shard = {}", shards));
  if (c.parallel.pp > 1) return exchanges(fmt::format("with parallel.pp = {}", c.parallel.pp));
  if (tp > 1) return exchanges(fmt::format("with parallel.tp = {}", tp));
  if (c.parallel.one_rank_exchange) return exchanges("with parallel.one_rank_exchange");
  const auto takes_memory = [](std::string_view what) {
    return fmt::format("with {}, the pass of a micro-batch takes memory, which is not captured", what);
  };
  if (c.parallel.zero == Zero::three) return takes_memory("parallel.zero = 3");
  const bool casts_first = c.precision == Precision::float8 && float8_recipe(c.float8)->casts_first();
  if (casts_first && c.float8.all_gather == AutoBool::no) return takes_memory("float8.all_gather = false");
  if (c.optimizer.beside_forward == AutoBool::yes) {
    return "with optimizer.beside_forward = true, the pass of a micro-batch waits for updates, which is not captured";
  }
  return {};
}

std::string obstacle_to_update_beside(const RunConfig& c, std::int64_t shards, std::int64_t tp) {
  if (c.precision != Precision::float8 || shards * tp == 1) return {};
  const RecipePtr recipe = float8_recipe(c.float8);
  if (!recipe->casts_first() || recipe->remembers()) return {};
  return fmt::format(
      "with float8.recipe = {} the {} ranks that share a weight (dp_shard {} x tp {}) take its scale from the largest "
      "value of all of them, in one exchange after the last update",
      c.float8.recipe, shards * tp, shards, tp);
}

void validate(const RunConfig& config, const Origins& origins) {
  RunConfig copy = config;
  Schema schema;
  declare_options(schema, copy);
  schema.check(origins);
  check_schedule(config, origins);
  check_optimizer(config, origins);
  check_batch(config, origins);
  check_data(config, origins);
  check_parallel(config.parallel, origins);
  check_pipeline(config, origins);
  check_tensor_parallel(config, origins);
  check_names(config, origins);
  check_float8_gather(config, origins);
  check_float8(config, origins);
  check_recompute(config, origins);
  check_attention(config, origins);
  check_wall_time(config, origins);
  check_profile(config, origins);
  check_slow_ranks(config, origins);
  check_checkpoint(config, origins);
  check_device(config, origins);
  check_cuda_choices(config, origins);
  check_nccl(config, origins);
}

}  // namespace octet
