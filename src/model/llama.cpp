#include "src/model/llama.h"

#include <utility>

#include "src/model/checked_tensors.h"
#include "src/ops/quantize.h"

namespace octet {

void Llama::forward_backward(const MicroBatch& batch, WeightProvider& weights, GradientSink& gradients) {
  std::vector<int> order = forward_units();
  for (const int unit : backward_units()) order.push_back(unit);
  begin(0);
  weights.begin_pass(order);
  forward(0, batch, weights, &gradients);
  backward(0, weights, gradients);
}

void Llama::evaluate(const MicroBatch& batch, WeightProvider& weights) {
  begin(0, SlotFor::forward);
  weights.begin_pass(forward_units());
  forward(0, batch, weights, nullptr);
}

void Llama::score(const MicroBatch& batch, WeightProvider& weights) {
  if (batch.scored.n <= 0) throw internal_error("model", "no token is to be scored");
  evaluate(batch, weights);
}

void Llama::extend(const MicroBatch& batch, WeightProvider& weights) {
  const CachedTokens& c = batch.cached;
  if (c.tokens < 1 || c.tokens > shape_.tokens() || c.tokens % shape_.part.count != 0 || c.first < 0 ||
      c.first + c.tokens > c.cache->rows()) {
    throw internal_error("model", "{} tokens at row {} of a cache of {}, in passes of {}", c.tokens, c.first,
                         c.cache->rows(), shape_.tokens());
  }
  BatchShape shape = shape_;
  shape.batch = 1;
  shape.seq = c.tokens;
  begin(0, SlotFor::forward, 0, shape, c);
  weights.begin_pass(forward_units());
  forward(0, batch, weights, nullptr);
}

std::vector<int> Llama::forward_units(int number) const {
  const Stage& s = stage(number);
  std::vector<int> order;
  if (s.units.has(embedding_unit)) order.push_back(embedding_unit);
  for (std::int64_t i = s.first_layer; i < s.end_layer; ++i) order.push_back(block_unit(i));
  if (has_head(s) && settings_.model.tied_embedding) order.push_back(embedding_unit);
  if (has_head(s)) order.push_back(head_unit(settings_.model));
  return order;
}

std::vector<int> Llama::backward_units(int number) const {
  const Stage& s = stage(number);
  std::vector<int> order;
  for (std::int64_t i = s.end_layer; i-- > s.first_layer;) order.push_back(block_unit(i));
  return order;
}

void Llama::forward(int index, const MicroBatch& batch, WeightProvider& weights, GradientSink* gradients) {
  Slot& slot = this->slot(index, Progress::begun);
  slot.tokens = batch.tokens;
  slot.documents = {settings_.documents, settings_.documents && settings_.forward_only, batch.documents, batch.shared};
  recomputed_of_ = slot.trains ? index : nobody;
  forward_blocks(slot, weights);
  if (has_head(*slot.stage)) {
    if (slot.trains) {
      head_backward(batch, slot, weights, *gradients);
    } else if (batch.scored.n > 0) {
      head_score(batch.scored, slot, weights);
    } else {
      head_forward(batch, slot, weights);
    }
  }
  if (slot.trains) record_forward(slot);
  slot.progress = slot.trains ? Progress::forwarded : Progress::free;
}

/// Without training one set of activations serves every block.
void Llama::forward_blocks(Slot& slot, WeightProvider& weights) {
  const StepPartScope part(StepPart::forward);
  const GemmMultiprocessors of_forward(op_, slot.gemm_multiprocessors);
  const Stage& stage = *slot.stage;
  for (std::int64_t layer = stage.first_layer; layer < stage.end_layer; ++layer) {
    const bool first = layer == stage.first_layer;
    if (!first && !slot.trains) slot.activations.rewind(slot.first);
    if (!first) slot.blocks.push_back(allocate_block(slot, layer));
    BlockActivations& a = slot.blocks.back();
    if (first && stage.units.has(embedding_unit)) embed(slot, weights, a.h);

    const int unit = block_unit(layer);
    const UnitScope unit_scope = work_for(unit);
    const auto w = weights.gather(unit);
    if (first) {
      block_forward(pass(slot, layer), unit, w, a.h, {}, a, slot.branch);
    } else {
      block_forward(pass(slot, layer), unit, w, block(slot, layer - 1).h_middle, slot.branch, a, slot.branch);
    }
    if (layer + 1 == stage.end_layer && !has_head(stage)) leave_stream(slot, w[slot_ffn_norm]);
    weights.release(unit);
  }
}

void Llama::record_forward(const Slot& slot) {
  const auto [first, end] = std::pair{slot.stage->first_layer, slot.stage->end_layer};
  scaling_->record(op_.stream, op_.kernels, CastKind::input, first * block_inputs, (end - first) * block_inputs,
                   slot.amaxes);
}

void Llama::backward(int index, WeightProvider& weights, GradientSink& gradients) {
  backward_blocks(index, weights, gradients, false);
  Slot& slot = this->slot(index, Progress::free);
  const StepPartScope part(StepPart::backward);
  if (slot.stage->units.has(embedding_unit)) embed_backward(slot.tokens, slot.dh, gradients);
}

void Llama::backward_of_inputs(int index, WeightProvider& weights, GradientSink& gradients) {
  backward_blocks(index, weights, gradients, true);
}

void Llama::backward_of_weights(int index, GradientSink& gradients) {
  const StepPartScope part(StepPart::weight_gradients);
  Slot& slot = this->slot(index, Progress::weights_left);
  slot.progress = Progress::free;
  const Stage& stage = *slot.stage;
  for (std::int64_t layer = stage.end_layer; layer-- > stage.first_layer;) {
    if (stage.recompute.applies(layer)) continue;
    const int unit = block_unit(layer);
    const UnitScope unit_scope = work_for(unit);
    block_weight_gradients(pass(slot, layer), gradients.open(unit), block(slot, layer),
                           slot.deferred[static_cast<std::size_t>(layer - stage.first_layer)]);
    gradients.close(unit);
  }
  if (stage.units.has(embedding_unit)) embed_backward(slot.tokens, slot.dh, gradients);
}

void Llama::backward_blocks(int index, WeightProvider& weights, GradientSink& gradients, bool split) {
  const StepPartScope part(StepPart::backward);
  Slot& slot = this->slot(index, Progress::forwarded);
  slot.progress = split ? Progress::weights_left : Progress::free;
  slot.deferred.resize(split ? slot.blocks.size() : 0);
  const Stage& stage = *slot.stage;
  const bool last_is_there = std::exchange(recomputed_of_, nobody) == index;
  OutputGradient dh = slot.top;
  if (!has_head(stage)) dh.quantized = {};  // the head would have written it, and the abs-max
  if (!has_head(stage) && dh.scale.amax != nullptr) {
    const UnitScope unit_scope = work_for(block_unit(stage.end_layer - 1));
    measure(op_, slot.dh, {.amax = dh.scale.amax, .non_finite = nullptr});
  }
  for (std::int64_t layer = stage.end_layer; layer-- > stage.first_layer;) {
    const int unit = block_unit(layer);
    const UnitScope unit_scope = work_for(unit);
    const auto w = weights.gather(unit);
    const OutputGradient below = gradient_of(slot, layer - 1);
    BlockActivations& a = block(slot, layer);
    if (stage.recompute.again(layer) || (stage.recompute.applies(layer) && !last_is_there)) {
      const GemmMultiprocessors of_forward(op_, slot.gemm_multiprocessors);
      block_recompute(pass(slot, layer), unit, w, stage.recompute.kept, a, slot.branch);
    }
    DeferredGradients* deferred = deferred_of(slot, layer, split);
    block_backward(pass(slot, layer), unit, w, weights.transposed(unit),
                   deferred == nullptr ? gradients.open(unit) : std::span<const GradientTarget>{}, a, dh, below,
                   deferred);
    dh = below;
    if (deferred == nullptr) gradients.close(unit);
    weights.release(unit);
  }
  record_backward(slot);
}

/// The output gradient of the block's w2 goes where the block above has read its input for the last time.
DeferredGradients* Llama::deferred_of(Slot& slot, std::int64_t layer, bool split) {
  const Stage& stage = *slot.stage;
  if (!split || stage.recompute.applies(layer)) return nullptr;
  DeferredGradients& deferred = slot.deferred[static_cast<std::size_t>(layer - stage.first_layer)];
  deferred.arena = &slot.activations;
  deferred.w2.dy = layer + 1 < stage.end_layer ? block(slot, layer + 1).h
                                               : take(slot.activations, shape_.storage, shape_.rows(), part_.dim);
  for (Tensor* norm : {&deferred.ffn_norm, &deferred.attention_norm}) {
    *norm = {slot.activations.allocate(part_.dim * 4), DType::f32, {part_.dim}, nullptr};
  }
  return &deferred;
}

void Llama::record_backward(const Slot& slot) {
  const auto [first, end] = std::pair{slot.stage->first_layer, slot.stage->end_layer};
  scaling_->record(op_.stream, op_.kernels, CastKind::gradient, first * block_linears, (end - first) * block_linears,
                   gradient_amaxes(slot));
  scaling_->record(op_.stream, op_.kernels, CastKind::weight, 0, parameters_.casts, scaling_->weights().amax);
}

}  // namespace octet
