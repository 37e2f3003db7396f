#include "src/model/float8_gemms.h"

namespace octet {
namespace {

/// The last of the linears that share an input: the sum of their inputs' gradients is whole with its part.
bool completes_a_sum(BlockLinear l) {
  return l == wv || l == w3;
}

}  // namespace

std::vector<Float8Gemm> float8_gemms(const ModelConfig& part, const BlockRecipes& recipes, std::int64_t tokens,
                                     std::int64_t parts) {
  const Float8Gemm::Extent all{GemmExtent::tokens, tokens};
  const Float8Gemm::Extent some = parts == 1 ? all : Float8Gemm::Extent{GemmExtent::part_of_tokens, tokens / parts};
  std::vector<Float8Gemm> gemms;
  for (int i = 0; i < block_linears; ++i) {
    const auto linear = static_cast<BlockLinear>(i);
    const LinearRecipe& recipe = recipes[static_cast<std::size_t>(i)];
    if (!recipe.float8()) continue;
    const BlockWeightSpec weight = block_weight(part, linear);
    const Float8Gemm::Extent out{GemmExtent::outputs, weight.shape[0]}, in{GemmExtent::inputs, weight.shape[1]};
    const bool split = weight.is_row_parallel() || completes_a_sum(linear);
    gemms.push_back({.linear = linear, .gemm = "output", .m = some, .n = out, .k = in, .multiple = recipe->multiple()});
    gemms.push_back({.linear = linear,
                     .gemm = "grad_input",
                     .m = split ? some : all,
                     .n = in,
                     .k = out,
                     .multiple = recipe->multiple()});
    if (recipe->float8_grad_weight()) {
      gemms.push_back(
          {.linear = linear, .gemm = "grad_weight", .m = out, .n = in, .k = all, .multiple = recipe->multiple()});
    }
  }
  return gemms;
}

}  // namespace octet
