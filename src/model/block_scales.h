#pragma once

#include "src/model/parameters.h"
#include "src/ops/scaling.h"

namespace octet {

/// Inputs of a block's linears, each cast once for all linears that read it.
enum BlockInput : int { input_of_qkv, input_of_wo, input_of_w1_w3, input_of_w2, block_inputs };

/// The scales of one block's fp8 casts among those of the model.
struct BlockScales {
  const Float8Scaling* scaling = &dynamic_scaling();
  std::int64_t layer = 0;

  QuantScale input(BlockInput i, Arena& arena) const {
    return scaling->values(CastKind::input, layer * block_inputs + i, arena);
  }
  /// The scale of a linear's output gradient; none, and then no abs-max is written, where the gradient is not cast with
  /// one scale.
  QuantScale gradient(const BlockRecipes& recipes, BlockLinear l, Arena& arena) const {
    if (!recipes[static_cast<std::size_t>(l)]->casts_first()) return {};
    return scaling->values(CastKind::gradient, layer * block_linears + l, arena);
  }
};

/// The casts of a whole model, of whose parameters the list holds some.
inline CastCounts cast_counts(const ModelConfig& model, const ParameterList& list) {
  return {.inputs = model.layers * block_inputs, .weights = list.casts, .gradients = model.layers * block_linears};
}

}  // namespace octet
