#include "src/model/slot.h"

#include <algorithm>

namespace octet {

Tensor Slot::begin(PassMode mode, const Stage& next_stage, const BatchShape& next_shape,
                   const CachedTokens& next_cached) {
  progress = Progress::begun;
  trains = mode == PassMode::training;
  stage = &next_stage;
  shape = next_shape;
  cached = next_cached;
  activations.rewind(0);
  // First, at one address for every stage: what leaves from there may still be on its way when a stage that has more or
  // fewer blocks takes the slot.
  if (trains || !stage->has_head) dh = take(activations, shape.storage, shape.rows(), model.part.dim);
  blocks.clear();
  deferred.clear();
  input_amaxes = gradient_amaxes = nullptr;
  if (model.recipe.casts_first()) {  // one launch zeroes them
    const std::int64_t inputs = stage->layers() * block_inputs,
                       gradients = trains ? stage->layers() * block_linears : 0;
    input_amaxes = activations.allocate<float>(inputs + gradients);
    if (input_amaxes != nullptr) {
      model.op.stream.device().zero(input_amaxes, 4 * (inputs + gradients), model.op.stream);
      if (trains) gradient_amaxes = input_amaxes + inputs;
    }
  }
  branch = take(activations, shape.storage, shape.rows(), model.part.dim);
  if (trains && model.scaling.known()) dh_codes = activations.allocate(dh.elements());
  top = trains ? gradient_of(stage->end_layer - 1) : OutputGradient{};
  blocks_mark = activations.mark();
  return add_block().h;
}

BlockActivations& Slot::add_block() {
  const std::int64_t layer = stage->first_layer + static_cast<std::int64_t>(blocks.size());
  if (!trains) activations.rewind(blocks_mark);
  return blocks.emplace_back(allocate_block(layer));
}

/// What the stage makes again lies in the memory of the block that was allocated before.
BlockActivations Slot::allocate_block(std::int64_t layer) {
  const RecomputePolicy& policy = stage->recompute;
  const bool recomputes = !trains || policy.applies(layer);
  const ArenaScope in_turns(model.recomputed);
  BlockActivations a =
      BlockActivations::allocate({activations, model.recomputed, recomputes ? policy.kept : ActivationSet::all(),
                                  trains && model.op.kernels.float8_gemm_k_major},
                                 model.part, shape, model.linears[static_cast<std::size_t>(layer)], scales(layer));
  if (cached.cache != nullptr) {
    a.k = cached.cache->keys(layer).rows(cached.first, cached.tokens);
    a.v = cached.cache->values(layer).rows(cached.first, cached.tokens);
  }
  return a;
}

BlockScales Slot::scales(std::int64_t layer) const {
  BlockScales of{&model.scaling, layer};
  const std::int64_t place = layer - stage->first_layer;
  if (input_amaxes != nullptr) of.input_amax = input_amaxes + place * block_inputs;
  if (gradient_amaxes != nullptr) of.gradient_amax = gradient_amaxes + place * block_linears;
  return of;
}

OutputGradient Slot::gradient_of(std::int64_t layer) {
  if (layer < stage->first_layer) return {.dy = dh};
  const BlockRecipes& recipes = model.linears[static_cast<std::size_t>(layer)].recipes;
  OutputGradient gradient{dh, scales(layer).gradient(recipes, w2, activations)};
  if (gradient.scale.known) {
    gradient.quantized = {dh_codes, recipes[w2]->grad_output_format(), dh.shape, gradient.scale.inverse};
  }
  return gradient;
}

/// The output gradient of the block's w2 goes where the block above has read its input for the last time.
DeferredGradients* Slot::deferred_of(std::int64_t layer) {
  if (deferred.empty() || stage->recompute.applies(layer)) return nullptr;
  DeferredGradients& places = deferred[place_of(layer)];
  const std::int64_t dim = model.part.dim;
  places.arena = &activations;
  places.w2.dy =
      layer + 1 < stage->end_layer ? block(layer + 1).h : take(activations, shape.storage, shape.rows(), dim);
  for (Tensor& norm : places.norms) norm = {activations.allocate(dim * 4), DType::f32, {dim}, nullptr};
  return &places;
}

}  // namespace octet
