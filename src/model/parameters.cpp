#include "src/model/parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "src/ops/recipes/recipe_list.h"

namespace octet {
namespace {

constexpr int whole = -1, outputs = 0, inputs = 1;  // dimension that is cut
constexpr double no_cutoff = 100;                   // torch's absolute cut of ±2 at a standard deviation of 0.02

std::string weight_name(std::int64_t layer, const BlockWeightSpec& weight) {
  return fmt::format("layers.{}.{}.weight", layer, weight.name);
}

double init_std(InitialWeight starts, std::int64_t layer) {
  switch (starts) {
    case InitialWeight::ones:
      break;
    case InitialWeight::normal:
      return 0.02;
    case InitialWeight::normal_by_depth:
      return 0.02 / std::sqrt(2.0 * static_cast<double>(layer + 1));
  }
  return 0;
}

}  // namespace

std::array<BlockWeightSpec, weights_of_block> block_weights(const ModelConfig& m) {
  using enum InitialWeight;
  return {{
      {"attention_norm", {m.dim}, whole, ones},
      {"ffn_norm", {m.dim}, whole, ones},
      {"attention.wq", {m.q_dim(), m.dim}, outputs, normal},
      {"attention.wk", {m.kv_dim(), m.dim}, outputs, normal},
      {"attention.wv", {m.kv_dim(), m.dim}, outputs, normal},
      {"attention.wo", {m.dim, m.q_dim()}, inputs, normal_by_depth},
      {"feed_forward.w1", {m.ffn_dim, m.dim}, outputs, normal},
      {"feed_forward.w3", {m.ffn_dim, m.dim}, outputs, normal_by_depth},
      {"feed_forward.w2", {m.dim, m.ffn_dim}, inputs, normal_by_depth},
  }};
}

BlockWeightSpec block_weight(const ModelConfig& m, BlockLinear l) {
  return block_weights(m)[static_cast<std::size_t>(index_of(l))];
}

BlockRecipes block_recipes(const ModelConfig& m, Precision precision, const Float8Config& float8, std::int64_t layer) {
  const RecipePtr recipe = recipe_of(precision, float8);
  const bool at_an_end = layer < float8.bf16_first_layers || layer >= m.layers - float8.bf16_last_layers;
  const auto weights = block_weights(m);
  BlockRecipes recipes;
  for (std::size_t l = 0; l < recipes.size(); ++l) {
    const BlockWeightSpec& weight = weights[block_norms + l];
    const std::string name = weight_name(layer, weight);
    const bool listed = std::ranges::any_of(
        float8.bf16_linears, [&](const std::string& part) { return name.find(part) != std::string::npos; });
    const bool small = float8.filter_small_kn && recipe->too_small(weight.shape[0], weight.shape[1]);
    recipes[l] = {weight.name, at_an_end || listed || small ? plain_recipe() : recipe};
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
  const auto weights = block_weights(m);
  for (std::int64_t layer = 0; layer < m.layers; ++layer) {
    list.units.push_back(fmt::format("block.{}", layer));
    const BlockRecipes recipes = block_recipes(m, precision, float8, layer);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const BlockWeightSpec& weight = weights[i];
      const bool linear = i >= block_norms, fp8 = linear && recipes[i - block_norms]->casts_first();
      add(weight_name(layer, weight), weight.shape, weight.cut_dim, fp8 ? Recipe::weight_format : storage,
          init_std(weight.starts, layer), linear ? no_cutoff : 0, linear);
    }
  }
  list.units.push_back("head");
  add("norm.weight", {m.dim}, whole, storage, 0, 0);
  if (!m.tied_embedding) add("output.weight", {m.vocab_size, m.dim}, outputs, storage, head_std, 3.0);
  return list;
}

}  // namespace octet
