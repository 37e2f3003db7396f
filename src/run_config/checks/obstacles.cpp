#include "src/run_config/checks/obstacles.h"

#include <fmt/format.h>

#include <string_view>

#include "src/ops/recipes/recipe_list.h"

namespace octet {

std::string obstacle_to_graphs(const RunConfig& c, std::int64_t shards, std::int64_t tp) {
  const auto exchanges = [](std::string_view what) {
    return fmt::format(
        "{}, ranks exchange data within the pass of a micro-batch, and such a pass cannot be one CUDA graph", what);
  };
  if (shards > 1) return exchanges(fmt::format("with parallel.dp_shard = {}", shards));
  if (c.parallel.pp > 1) return exchanges(fmt::format("with parallel.pp = {}", c.parallel.pp));
  if (tp > 1) return exchanges(fmt::format("with parallel.tp = {}", tp));
  if (c.parallel.one_rank_exchange) return exchanges("with parallel.one_rank_exchange");
  const auto takes_memory = [](std::string_view what) {
    return fmt::format("with {}, the pass of a micro-batch allocates memory, and such a pass cannot be one CUDA graph",
                       what);
  };
  if (c.parallel.zero == Zero::three) return takes_memory("parallel.zero = 3");
  const bool casts_first = c.precision == Precision::float8 && float8_recipe(c.float8)->casts_first();
  if (casts_first && c.float8.all_gather == AutoBool::no) return takes_memory("float8.all_gather = false");
  if (c.optimizer.beside_forward == AutoBool::yes) {
    return "with optimizer.beside_forward = true, the pass of a micro-batch waits for updates, and such a pass cannot "
           "be one CUDA graph";
  }
  return {};
}

std::string obstacle_to_update_beside(const RunConfig& c, std::int64_t shards, std::int64_t tp) {
  if (c.precision != Precision::float8 || shards * tp == 1) return {};
  const RecipePtr recipe = float8_recipe(c.float8);
  if (!recipe->scales_of_updated_weights()) return {};
  return fmt::format(
      "with float8.recipe = {} the {} ranks that share a weight (dp_shard {} x tp {}) take its scale from the largest "
      "value of all of them, in one exchange after the last update",
      c.float8.recipe, shards * tp, shards, tp);
}

}  // namespace octet
