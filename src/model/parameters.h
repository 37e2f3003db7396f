#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "src/model/config.h"
#include "src/ops/linear.h"
#include "src/tensor/parameter.h"

namespace octet {

/// The seven linears of a block, in the order of their parameters in the unit (the norms come first, see BlockWeight).
enum BlockLinear : int { wq, wk, wv, wo, w1, w3, w2, block_linears };

/// Positions of a block's weights, and of their gradients, in its unit: the norms, and then the linears.
enum BlockWeight : int { attention_norm_weight, ffn_norm_weight, block_norms };
constexpr int index_of(BlockLinear l) {
  return static_cast<int>(block_norms) + static_cast<int>(l);
}
constexpr int weights_of_block = index_of(block_linears);

/// How a weight starts: as ones, or normal with a standard deviation that is the same in all blocks or falls with
/// depth.
enum class InitialWeight : std::uint8_t { ones, normal, normal_by_depth };

/// A weight that every block has. Tensor parallelism: wo and w2 are row-parallel, cut along their inputs (dimension 1),
/// so that each rank has a partial sum of the output; the other linears are column-parallel, cut along their outputs
/// (Megatron-LM, arXiv 1909.08053).
struct BlockWeightSpec {
  std::string_view name;  ///< "attention.wq", of the parameter "layers.3.attention.wq.weight"
  Shape shape;            ///< [out, in] of a linear's
  int cut_dim = -1;       ///< what tensor parallelism cuts; -1: nothing
  InitialWeight starts = InitialWeight::ones;

  bool is_row_parallel() const { return cut_dim == 1; }
};
/// All of them, by their positions. Others list them by hand in three places only: the formula of
/// ModelConfig::parameters(), to which tests hold this list, the groups of exchange_table.cpp, and names for others.
std::array<BlockWeightSpec, weights_of_block> block_weights(const ModelConfig& model);
/// The spec of a linear's weight.
BlockWeightSpec block_weight(const ModelConfig& model, BlockLinear linear);

/// Recipes of a block's seven linears under a precision; `model` is the whole model.
using BlockRecipes = std::array<LinearRecipe, block_linears>;
BlockRecipes block_recipes(const ModelConfig& model, Precision precision, const Float8Config& float8,
                           std::int64_t layer);

/// The linears of a block as their groups compute.
struct BlockLinears {
  explicit BlockLinears(const BlockRecipes& recipes);
  BlockRecipes recipes;
  ColumnGroup qkv;
  RowLinear wo;
  ColumnGroup w1_w3;
  RowLinear w2;
};

/// Unit numbers: 0 the embedding, 1 + i block i, layers + 1 the final norm and output head.
constexpr int embedding_unit = 0;
constexpr int block_unit(std::int64_t layer) {
  return static_cast<int>(layer) + 1;
}
constexpr int head_unit(const ModelConfig& m) {
  return static_cast<int>(m.layers) + 1;
}

/// Units [begin, end): the whole model's, or those of a pipeline stage.
struct UnitRange {
  int begin = 0;
  int end = 0;
  bool has(int unit) const { return begin <= unit && unit < end; }
};

/// Parameters with torchtitan's names and initial values (models/llama3/model: embedding N(0, 1); wq, wk, wv, w1 std
/// 0.02; wo, w2, w3 std 0.02/sqrt(2 (layer + 1)); head std dim^-1/2 cut at 3 std; norms 1). A tied embedding starts as
/// the head does, because it has to serve as one. `model` is the whole model, `tp` the rank's part: embedding and head
/// are cut along the vocabulary, a block's weights as block_weights says.
ParameterList llama_parameters(const ModelConfig& model, Precision precision, const Float8Config& float8,
                               const Part& tp = {});

}  // namespace octet
