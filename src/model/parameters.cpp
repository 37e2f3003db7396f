#include "src/model/parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "src/ops/recipes/recipe_list.h"

namespace octet {
namespace {

constexpr std::array<std::string_view, block_linears> linear_names = {
    "attention.wq",    "attention.wk",    "attention.wv",   "attention.wo",
    "feed_forward.w1", "feed_forward.w3", "feed_forward.w2"};

std::string weight_name(std::int64_t layer, BlockLinear l) {
  return fmt::format("layers.{}.{}.weight", layer, linear_names[static_cast<std::size_t>(l)]);
}

constexpr double no_cutoff = 100;  // torch's absolute cut of ±2 at a standard deviation of 0.02

double init_std(BlockLinear l, std::int64_t layer) {
  const bool by_depth = l == wo || l == w2 || l == w3;
  return by_depth ? 0.02 / std::sqrt(2.0 * static_cast<double>(layer + 1)) : 0.02;
}

}  // namespace

Shape weight_shape(const ModelConfig& m, BlockLinear l) {
  switch (l) {
    case wq:
      return {m.q_dim(), m.dim};
    case wk:
    case wv:
      return {m.kv_dim(), m.dim};
    case wo:
      return {m.dim, m.q_dim()};
    case w1:
    case w3:
      return {m.ffn_dim, m.dim};
    default:
      return {m.dim, m.ffn_dim};
  }
}

BlockRecipes block_recipes(const ModelConfig& m, Precision precision, const Float8Config& float8, std::int64_t layer) {
  const RecipePtr recipe = recipe_of(precision, float8);
  const bool at_an_end = layer < float8.bf16_first_layers || layer >= m.layers - float8.bf16_last_layers;
  BlockRecipes recipes;
  for (std::size_t l = 0; l < recipes.size(); ++l) {
    const auto linear = static_cast<BlockLinear>(l);
    const std::string name = weight_name(layer, linear);
    const bool listed = std::ranges::any_of(
        float8.bf16_linears, [&](const std::string& part) { return name.find(part) != std::string::npos; });
    const Shape weight = weight_shape(m, linear);
    const bool small = float8.filter_small_kn && recipe->too_small(weight[0], weight[1]);
    recipes[l] = {linear_names[l], at_an_end || listed || small ? plain_recipe() : recipe};
  }
  return recipes;
}

BlockLinears::BlockLinears(const BlockRecipes& r)
    : recipes(r),
      qkv({r[octet::wq], r[octet::wk], r[octet::wv]}),
      wo(r[octet::wo]),
      w1_w3({r[octet::w1], r[octet::w3]}),
      w2(r[octet::w2]) {}

ParameterList llama_parameters(const ModelConfig& m, Precision precision, const Float8Config& float8, const Part& tp) {
  constexpr int whole = -1, outputs = 0, inputs = 1;  // dimension that is cut
  const DType storage = storage_dtype(precision);
  const double head_std = 1.0 / std::sqrt(static_cast<double>(m.dim));
  ParameterList list;
  const auto add = [&](std::string name, Shape shape, int cut_dim, DType gathered, double std_dev, double cutoff,
                       bool one_gemm_gradient = false) {
    const TensorCut cut{cut_dim, tp};
    list.add({.name = std::move(name),
              .unit = static_cast<int>(list.units.size()) - 1,
              .global = shape,
              .cut = cut,
              .shape = cut.shape(shape),
              .gathered = gathered,
              .init_std = std_dev,
              .init_cutoff = cutoff,
              .one_gemm_gradient = one_gemm_gradient});
  };

  list.units.push_back("embedding");
  add("tok_embeddings.weight", {m.vocab_size, m.dim}, outputs, storage, m.tied_embedding ? head_std : 1.0,
      m.tied_embedding ? 3.0 : no_cutoff);
  for (std::int64_t layer = 0; layer < m.layers; ++layer) {
    list.units.push_back(fmt::format("block.{}", layer));
    const std::string prefix = fmt::format("layers.{}.", layer);
    const BlockRecipes recipes = block_recipes(m, precision, float8, layer);
    add(prefix + "attention_norm.weight", {m.dim}, whole, storage, 0, 0);
    add(prefix + "ffn_norm.weight", {m.dim}, whole, storage, 0, 0);
    for (int l = 0; l < block_linears; ++l) {
      const auto linear = static_cast<BlockLinear>(l);
      const LinearRecipe& recipe = recipes[static_cast<std::size_t>(l)];
      add(weight_name(layer, linear), weight_shape(m, linear), is_row_parallel(linear) ? inputs : outputs,
          recipe->casts_first() ? Recipe::weight_format : storage, init_std(linear, layer), no_cutoff, true);
    }
  }
  list.units.push_back("head");
  add("norm.weight", {m.dim}, whole, storage, 0, 0);
  if (!m.tied_embedding) add("output.weight", {m.vocab_size, m.dim}, outputs, storage, head_std, 3.0);
  return list;
}

}  // namespace octet
