#include <functional>

#include "src/base/options/text.h"
#include "src/ops/recipes/recipe_list.h"
#include "src/parallel/pipeline/pipeline_passes.h"
#include "src/run_config/checks/checks.h"
#include "src/run_config/checks/obstacles.h"

namespace octet {

void check_layout(const RunConfig& c, const ParallelConfig& p, const Origins& at) {
  const bool exchanges = p.dp_shard > 1 || p.one_rank_exchange;
  if (p.whole_gradients != GradientForm::fp32 && !exchanges) {
    throw refuse(at, "parallel.whole_gradients", p.whole_gradients,
                 "has no effect with parallel.dp_shard = 1: gradients are summed in their fp32 pieces; expected fp32");
  }
  if (p.one_rank_exchange && p.dp_shard > 1) {
    throw refuse(at, "parallel.one_rank_exchange", "true",
                 "is for shard groups of one rank, this run has {} shards; expected false", p.dp_shard);
  }
  if (p.overlap == AutoBool::yes && p.dp_shard == 1 && !p.one_rank_exchange) {
    throw refuse(at, "parallel.overlap", p.overlap,
                 "has no effect with parallel.dp_shard = 1: nothing is gathered; expected auto or false");
  }
  if (const std::string why = obstacle_to_graphs(c, p.dp_shard, p.tp); c.graphs == AutoBool::yes && !why.empty()) {
    throw refuse(at, "cuda.graphs", c.graphs, "{}; expected auto or false", why);
  }
  if (const std::string why = obstacle_to_update_beside(c, p.dp_shard, p.tp);
      c.optimizer.beside_forward == AutoBool::yes && !why.empty()) {
    throw refuse(at, "optimizer.beside_forward", c.optimizer.beside_forward,
                 "{}; expected auto or false, or another recipe: {}", why,
                 alternatives(float8_recipes_where(std::not_fn(&Recipe::scales_of_updated_weights))));
  }
  if (p.zero_with(p.dp_shard) == Zero::three && c.float8.keep_transposed_weights == AutoBool::yes) {
    throw refuse(at, "float8.keep_transposed_weights", true,
                 "weights are let go after each use, and their copies with them; expected auto or false, or "
                 "parallel.zero 1 or 2");
  }
  check_nccl_groups(c, p, at);
  const std::int64_t data_parallel = p.dp_replicate * p.dp_shard;
  const std::int64_t sequences = c.train.micro_batch * data_parallel;
  if (c.train.global_batch % sequences != 0) {
    throw refuse(at, "train.global_batch", c.train.global_batch,
                 "expected a multiple of micro_batch {} x {} data-parallel ranks = {}", c.train.micro_batch,
                 data_parallel, sequences);
  }
  const auto micro_batches = static_cast<int>(c.train.micro_batches(data_parallel));
  if (p.whole_gradients != GradientForm::fp32 && micro_batches == 1) {
    throw refuse(at, "parallel.whole_gradients", p.whole_gradients,
                 "has no effect with one micro-batch a step (train.global_batch {}): none is kept for a later one; "
                 "expected fp32",
                 c.train.global_batch);
  }
  check_gradient_wire(c, p, micro_batches, at);
  if (const auto obstacle = obstacle_to(pipeline_shape(p, micro_batches))) {
    throw refuse(at, obstacle->key, obstacle->value, "{}", obstacle->why);
  }
}

}  // namespace octet
