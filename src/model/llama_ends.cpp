// The two ends of the model in its passes: the embedding, and the head or what a stage without it hands on.
#include "src/model/checked_tensors.h"
#include "src/model/llama.h"
#include "src/ops/embedding.h"
#include "src/ops/norm.h"
#include "src/ops/rows.h"

namespace octet {

void Llama::embed(const Slot& slot, WeightProvider& weights, const Tensor& out) {
  const UnitScope unit = work_for(embedding_unit);
  const Tensor table = weights.gather(embedding_unit)[0];
  const ArenaScope scope(scratch_);
  const Tensor partial = partial_of(op_, out);  // a row comes from the one rank that has the token
  embedding_forward(op_, slot.tokens, table, settings_.tp.index * part_.vocab_size, partial);
  scatter_rows(op_, partial, out);
  weights.release(embedding_unit);
}

void Llama::embed_backward(const std::int32_t* tokens, const Tensor& dh, GradientSink& gradients) {
  const UnitScope unit = work_for(embedding_unit);
  const GradientTarget target = gradients.open(embedding_unit)[0];
  const ArenaScope scope(scratch_);
  embedding_backward(op_, tokens, gather_rows(op_, dh), settings_.tp.index * part_.vocab_size, target);
  gradients.close(embedding_unit);
}

/// Sums residual and branch as the next norm would, with the kernel of that norm. The normed output of the kernel is
/// not used, so it does not matter which norm's weight is given.
void Llama::leave_stream(const Slot& slot, const Tensor& norm) {
  const ArenaScope scope(scratch_);
  const Tensor normed = take(scratch_, shape_.storage, shape_.rows(), part_.dim);
  auto* inverse_rms = scratch_.allocate<float>(shape_.rows());
  add_rmsnorm(op_, slot.blocks.back().h_middle, slot.branch, norm, static_cast<float>(part_.norm_eps), slot.dh,
              {normed}, inverse_rms);
}

HeadWeights Llama::gather_head(WeightProvider& weights) {
  // Copies of the views: the spans belong to the provider.
  const bool tied = settings_.model.tied_embedding;
  const Tensor embedding = tied ? weights.gather(embedding_unit)[0] : Tensor{};
  const auto head = weights.gather(head_unit(settings_.model));
  return {head[0], tied ? embedding : head[1]};
}

void Llama::release_head(WeightProvider& weights) {
  weights.release(head_unit(settings_.model));
  if (settings_.model.tied_embedding) weights.release(embedding_unit);
}

void Llama::head_forward(const MicroBatch& batch, const Slot& slot, WeightProvider& weights) {
  const StepPartScope part(StepPart::forward);
  const UnitScope unit = work_for(head_unit(settings_.model));
  const HeadWeights w = gather_head(weights);
  head(slot.shape).forward(w, slot.result(), batch.targets, batch.loss_sum);
  release_head(weights);
}

void Llama::head_score(const ScoredTokens& scored, const Slot& slot, WeightProvider& weights) {
  const StepPartScope part(StepPart::forward);
  const UnitScope unit = work_for(head_unit(settings_.model));
  const HeadWeights w = gather_head(weights);
  head(slot.shape).score(w, slot.result(), scored);
  release_head(weights);
}

void Llama::head_backward(const MicroBatch& batch, const Slot& slot, WeightProvider& weights, GradientSink& gradients) {
  const StepPartScope part(StepPart::backward);
  const int unit = head_unit(settings_.model);
  const UnitScope unit_scope = work_for(unit);
  const HeadWeights w = gather_head(weights);
  const auto head_gradients = gradients.open(unit);
  const HeadGradients to{
      .norm = head_gradients[0],
      .output = settings_.model.tied_embedding ? gradients.open(embedding_unit)[0] : head_gradients[1]};
  head(slot.shape).forward_backward(w, to, slot.result(), batch.targets, batch.loss_scale, batch.loss_sum, slot.top);
  gradients.close(unit);
  if (settings_.model.tied_embedding && !slot.stage->has_embedding()) gradients.close(embedding_unit);
  release_head(weights);
}

}  // namespace octet
