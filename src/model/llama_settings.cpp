#include "src/model/llama_settings.h"

#include <algorithm>

#include "src/base/round_up.h"
#include "src/ops/recipes/recipe_list.h"

namespace octet {

std::int64_t LlamaSettings::gemm_multiple(DeviceType device) const {
  const RecipePtr recipe = recipe_of(precision, float8);
  if (!recipe->float8()) return 1;
  // 16 is a rule of cuBLASLt; where scales lie along sums, they are for whole blocks on every device.
  const bool everywhere = recipe->multiple() > plain_recipe()->multiple();
  return everywhere || device == DeviceType::cuda ? recipe->multiple() : 1;
}

std::int64_t LlamaSettings::cached_multiple(DeviceType device) const {
  return tp.count * gemm_multiple(device);
}

std::vector<std::int64_t> LlamaSettings::cached_passes(DeviceType device) const {
  const std::int64_t multiple = cached_multiple(device), most = micro_batch * seq_len;
  const std::int64_t step = round_up(most / 16, multiple);
  std::vector<std::int64_t> passes{multiple};
  for (std::int64_t tokens = std::max(step, 2 * multiple); tokens < most; tokens += std::max(step, multiple)) {
    passes.push_back(tokens);
  }
  if (most > passes.back()) passes.push_back(most);
  return passes;
}

}  // namespace octet
