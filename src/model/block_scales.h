#pragma once

#include "src/model/parameters.h"
#include "src/ops/scaling.h"

namespace octet {

/// Inputs of a block's linears, each cast once for all linears that read it.
enum BlockInput : int { input_of_qkv, input_of_wo, input_of_w1_w3, input_of_w2, block_inputs };

/// The scales of one block's fp8 casts among those of the model, and where a pass takes the abs-maxes: zero before it,
/// one for each cast.
struct BlockScales {
  const Float8Scaling* scaling = &dynamic_scaling();
  std::int64_t layer = 0;
  float* input_amax = nullptr;     ///< [block_inputs]; may be null where casts_first() of no linear holds
  float* gradient_amax = nullptr;  ///< [block_linears]; the same, and in passes that do not train

  QuantScale input(BlockInput i, Arena& arena) const {
    QuantScale s = scaling->values(CastKind::input, layer * block_inputs + i, arena);
    s.amax = input_amax == nullptr ? nullptr : input_amax + i;
    return s;
  }
  /// The scale of a linear's output gradient; none, and then no abs-max is written, where the gradient is not cast with
  /// one scale.
  QuantScale gradient(const BlockRecipes& recipes, BlockLinear l, Arena& arena) const {
    if (!recipes[static_cast<std::size_t>(l)]->casts_first()) return {};
    QuantScale s = scaling->values(CastKind::gradient, layer * block_linears + l, arena);
    s.amax = gradient_amax == nullptr ? nullptr : gradient_amax + l;
    return s;
  }
};

/// The casts of a whole model, of whose parameters the list holds some.
inline CastCounts cast_counts(const ModelConfig& model, const ParameterList& list) {
  return {.inputs = model.layers * block_inputs, .weights = list.casts, .gradients = model.layers * block_linears};
}

}  // namespace octet
