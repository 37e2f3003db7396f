#include "src/model/gemm_formats.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "src/ops/recipe.h"

namespace octet {

std::vector<EqualBlocks> equal_blocks(const ModelConfig& m, Precision precision, const Float8Config& float8) {
  std::vector<EqualBlocks> all;
  for (std::int64_t layer = 0; layer < m.layers; ++layer) {
    const BlockRecipes recipes = block_recipes(m, precision, float8, layer);
    // Where linears are fp8 they have the run's one recipe.
    auto same = std::ranges::find_if(all, [&](const EqualBlocks& blocks) {
      return std::ranges::equal(blocks.recipes, recipes, {}, &LinearRecipe::float8, &LinearRecipe::float8);
    });
    if (same == all.end()) same = all.insert(same, {.recipes = recipes});
    same->layers.push_back(layer);
  }
  return all;
}

std::string EqualBlocks::text() const {
  std::vector<std::string> ranges;
  for (std::size_t first = 0, last = 0; first < layers.size(); first = ++last) {
    while (last + 1 < layers.size() && layers[last + 1] == layers[last] + 1) ++last;
    ranges.push_back(first == last ? fmt::format("{}", layers[first])
                                   : fmt::format("{} to {}", layers[first], layers[last]));
  }
  return fmt::format("{} {}", layers.size() == 1 ? "block" : "blocks", fmt::join(ranges, ", "));
}

std::string gemm_format_table(const ModelConfig& m, Precision precision, const Float8Config& float8) {
  const auto row = [](auto name, auto shape, auto output, auto grad_input, auto grad_weight) {
    return fmt::format("  {:<18} {:<16} {:<13} {:<13} {:<13}\n", name, shape, output, grad_input, grad_weight);
  };
  const std::string_view plain = name_of(storage_dtype(precision));
  std::string table = row("linear", "weight", "output", "grad_input", "grad_weight");
  const std::vector<EqualBlocks> all = equal_blocks(m, precision, float8);
  for (const EqualBlocks& blocks : all) {
    if (all.size() > 1) table += fmt::format("  {}:\n", blocks.text());
    for (std::size_t l = 0; l < blocks.recipes.size(); ++l) {
      const LinearRecipe& recipe = blocks.recipes[l];
      const std::string_view x = recipe.float8() ? name_of(Recipe::input_format) : plain;
      const std::string_view w = recipe.float8() ? name_of(Recipe::weight_format) : plain;
      const std::string_view dy = recipe.float8() ? name_of(recipe->grad_output_format()) : plain;
      const bool plain_grad_weight = recipe.float8() && !recipe->float8_grad_weight();
      table += row(recipe.name, block_weight(m, static_cast<BlockLinear>(l)).shape.text(), fmt::format("{} x {}", x, w),
                   fmt::format("{} x {}", dy, w),
                   plain_grad_weight ? fmt::format("{} x {}", plain, plain) : fmt::format("{} x {}", dy, x));
    }
  }
  if (all.size() > 1) table += "  all:\n";
  const std::string same = fmt::format("{} x {}", plain, plain);
  table += row(m.tied_embedding ? "output (tied)" : "output", Shape{m.vocab_size, m.dim}.text(), same, same, same);
  return table;
}

}  // namespace octet
