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
  begin(0, PassMode::forward_only);
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
  begin(0, PassMode::forward_only, 0, shape, c);
  weights.begin_pass(forward_units());
  forward(0, batch, weights, nullptr);
}

std::vector<int> Llama::forward_units(int stage_index) const {
  const Stage& s = stage(stage_index);
  std::vector<int> order;
  if (s.has_embedding()) order.push_back(embedding_unit);
  for (std::int64_t i = s.first_layer; i < s.end_layer; ++i) order.push_back(block_unit(i));
  if (s.has_head && settings_.model.tied_embedding) order.push_back(embedding_unit);
  if (s.has_head) order.push_back(head_unit(settings_.model));
  return order;
}

std::vector<int> Llama::backward_units(int stage_index) const {
  const Stage& s = stage(stage_index);
  std::vector<int> order;
  for (std::int64_t i = s.end_layer; i-- > s.first_layer;) order.push_back(block_unit(i));
  return order;
}

Slot& Llama::slot_in(Progress expected, int slot_index) {
  Slot& slot = slots_.at(static_cast<std::size_t>(slot_index));
  if (slot.progress != expected) {
    throw internal_error("model", "slot {}: begin, forward and backward of a micro-batch follow each other",
                         slot_index);
  }
  return slot;
}

Tensor Llama::begin(int slot_index, PassMode mode, int stage_index) {
  return begin(slot_index, mode, stage_index, shape_, {});
}

Tensor Llama::begin(int slot_index, PassMode mode, int stage_index, const BatchShape& shape,
                    const CachedTokens& cached) {
  Slot& slot = slots_.at(static_cast<std::size_t>(slot_index));
  if (slot.progress == Progress::forwarded || slot.progress == Progress::weights_left) {
    throw internal_error("model", "slot {} holds a micro-batch whose backward is not done", slot_index);
  }
  const Stage& stage = this->stage(stage_index);
  std::int64_t& left_to_forward = gemm_multiprocessors_[static_cast<std::size_t>(stage_index)];
  slot.gemm_multiprocessors = mode == PassMode::training ? std::exchange(left_to_forward, 0) : 0;
  return slot.begin(mode, stage, shape, cached);
}

void Llama::forward(int slot_index, const MicroBatch& batch, WeightProvider& weights, GradientSink* gradients) {
  Slot& slot = slot_in(Progress::begun, slot_index);
  slot.tokens = batch.tokens;
  slot.documents = {settings_.documents, settings_.documents && settings_.forward_only, batch.documents, batch.shared};
  recomputed_of_ = slot.trains ? slot_index : nobody;
  forward_blocks(slot, weights);
  if (slot.stage->has_head) {
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

void Llama::forward_blocks(Slot& slot, WeightProvider& weights) {
  const StepPartScope part(StepPart::forward);
  const GemmMultiprocessors of_forward(op_, slot.gemm_multiprocessors);
  const Stage& stage = *slot.stage;
  BlockResult h{slot.block(stage.first_layer).h, {}};
  for (std::int64_t layer = stage.first_layer; layer < stage.end_layer; ++layer) {
    const bool first = layer == stage.first_layer;
    BlockActivations& a = first ? slot.block(layer) : slot.add_block();
    if (first && stage.has_embedding()) embed(slot, weights, a.h);

    const int unit = block_unit(layer);
    const UnitScope unit_scope = work_for(unit);
    const auto w = weights.gather(unit);
    block_forward(pass(slot, layer), w, h, a, slot.branch);
    h = slot.result();
    if (layer + 1 == stage.end_layer && !stage.has_head) leave_stream(slot, w[ffn_norm_weight]);
    weights.release(unit);
  }
}

void Llama::record_forward(const Slot& slot) {
  const Stage& stage = *slot.stage;
  scaling_->record(op_.stream, op_.kernels, CastKind::input, stage.first_layer * block_inputs,
                   stage.layers() * block_inputs, slot.input_amaxes);
}

void Llama::backward(int slot_index, WeightProvider& weights, GradientSink& gradients) {
  backward_blocks(slot_index, weights, gradients, false);
  Slot& slot = slot_in(Progress::free, slot_index);
  const StepPartScope part(StepPart::backward);
  if (slot.stage->has_embedding()) embed_backward(slot.tokens, slot.dh, gradients);
}

void Llama::backward_of_inputs(int slot_index, WeightProvider& weights, GradientSink& gradients) {
  backward_blocks(slot_index, weights, gradients, true);
}

void Llama::backward_of_weights(int slot_index, GradientSink& gradients) {
  const StepPartScope part(StepPart::weight_gradients);
  Slot& slot = slot_in(Progress::weights_left, slot_index);
  slot.progress = Progress::free;
  const Stage& stage = *slot.stage;
  for (std::int64_t layer = stage.end_layer; layer-- > stage.first_layer;) {
    if (stage.recompute.applies(layer)) continue;
    const int unit = block_unit(layer);
    const UnitScope unit_scope = work_for(unit);
    block_weight_gradients(pass(slot, layer), gradients.open(unit), slot.block(layer),
                           slot.deferred[slot.place_of(layer)]);
    gradients.close(unit);
  }
  if (stage.has_embedding()) embed_backward(slot.tokens, slot.dh, gradients);
}

void Llama::backward_blocks(int slot_index, WeightProvider& weights, GradientSink& gradients, bool split) {
  const StepPartScope part(StepPart::backward);
  Slot& slot = slot_in(Progress::forwarded, slot_index);
  slot.progress = split ? Progress::weights_left : Progress::free;
  slot.deferred.resize(split ? slot.blocks.size() : 0);
  const Stage& stage = *slot.stage;
  const bool last_is_there = std::exchange(recomputed_of_, nobody) == slot_index;
  OutputGradient dh = slot.top;
  if (!stage.has_head) dh.quantized = {};  // the head would have written it, and the abs-max
  if (!stage.has_head && dh.scale.amax != nullptr) {
    const UnitScope unit_scope = work_for(block_unit(stage.end_layer - 1));
    measure(op_, slot.dh, {.amax = dh.scale.amax, .non_finite = nullptr});
  }
  for (std::int64_t layer = stage.end_layer; layer-- > stage.first_layer;) {
    const int unit = block_unit(layer);
    const UnitScope unit_scope = work_for(unit);
    const auto w = weights.gather(unit);
    const OutputGradient below = slot.gradient_of(layer - 1);
    BlockActivations& a = slot.block(layer);
    if (stage.recompute.again(layer) || (stage.recompute.applies(layer) && !last_is_there)) {
      const GemmMultiprocessors of_forward(op_, slot.gemm_multiprocessors);
      block_recompute(pass(slot, layer), w, stage.recompute.kept, a, slot.branch);
    }
    DeferredGradients* deferred = slot.deferred_of(layer);
    block_backward(pass(slot, layer), w, weights.transposed(unit),
                   deferred == nullptr ? gradients.open(unit) : std::span<const GradientTarget>{}, a, dh, below,
                   deferred);
    dh = below;
    if (deferred == nullptr) gradients.close(unit);
    weights.release(unit);
  }
  record_backward(slot);
}

void Llama::record_backward(const Slot& slot) {
  const Stage& stage = *slot.stage;
  scaling_->record(op_.stream, op_.kernels, CastKind::gradient, stage.first_layer * block_linears,
                   stage.layers() * block_linears, slot.gradient_amaxes);
  scaling_->record(op_.stream, op_.kernels, CastKind::weight, 0, parameters_.casts, scaling_->weights().amax);
}

}  // namespace octet
