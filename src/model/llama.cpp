#include "src/model/llama.h"

#include <array>

#include "src/model/tensors.h"
#include "src/ops/make_scaling.h"
#include "src/ops/recipe.h"
#include "src/ops/rows.h"

namespace octet {

Llama::Llama(const LlamaSettings& s, Stream& stream, Exchange& exchange, GemmTrace* gemms, const KernelTable& kernels,
             Arena activations, Arena scratch, Arena recomputed)
    : settings_(s),
      part_(s.model.part(s.tp.count)),
      recompute_(RecomputePolicy::of(s.recompute, s.model.layers)),
      parameters_(llama_parameters(s.model, s.precision, s.float8, s.tp)),
      kernels_(kernels),
      activations_(std::move(activations)),
      scratch_(std::move(scratch)),
      recomputed_(std::move(recomputed)),
      rope_(stream.device(), stream, s.seq_len, s.model.head_dim, s.model.rope_theta),
      checks_(stream.device(), stream, parameters_.units, checked_tensor_names()),
      op_{stream, kernels_, scratch_, exchange, gemms, power_of_two_scales(s.float8)},
      shape_{s.micro_batch, s.seq_len, storage_dtype(s.precision), s.tp, s.tp_keep_gathered && s.tp.count > 1},
      head_{op_, part_, shape_, checks_} {
  for (std::int64_t layer = 0; layer < s.model.layers; ++layer) {
    recipes_.push_back(block_recipes(s.model, s.precision, s.float8, layer));
  }
  scaling_ = make_scaling(s.precision, s.float8, cast_counts(s.model, parameters_), stream);
  if (exchange.part() != s.tp) throw internal_error("model", "the exchange is of another part than the model");
  if (shape_.tokens() % s.tp.count != 0) {
    throw internal_error("model", "{} tokens cannot be cut into {} parts", shape_.tokens(), s.tp.count);
  }
}

Llama::Llama(const LlamaSettings& s, Stream& stream, Exchange& exchange, GemmTrace* gemms, const MemoryNeeds& needs,
             const KernelTable& kernels)
    : Llama(s, stream, exchange, gemms, kernels,
            Arena(stream.device(), needs.activations, Purpose::activations, "activations"),
            Arena(stream.device(), needs.scratch, Purpose::workspace, "scratch"),
            Arena(stream.device(), needs.recomputed, Purpose::activations, "recomputed activations")) {}

UnitScope Llama::work_for(int unit) {
  const std::string& name = parameters_.units[static_cast<std::size_t>(unit)];
  op_.exchange.set_unit(name);
  if (op_.gemms != nullptr) op_.gemms->set_unit(name);
  return UnitScope(name);
}

BlockPass Llama::pass(std::int64_t layer) {
  return {op_, part_, shape_, recipes_[static_cast<std::size_t>(layer)], rope_, checks_, {scaling_.get(), layer}};
}

QuantScale Llama::scale_of_dh(std::int64_t layer) {
  if (layer < 0) return {};
  const BlockScales scales{scaling_.get(), layer};
  return scales.gradient(recipes_[static_cast<std::size_t>(layer)], w2, activations_);
}

std::vector<int> Llama::pass_order(const ModelConfig& m, bool backward) {
  std::vector<int> order{embedding_unit};
  for (std::int64_t i = 0; i < m.layers; ++i) order.push_back(block_unit(i));
  if (m.tied_embedding) order.push_back(embedding_unit);
  order.push_back(head_unit(m));
  for (std::int64_t i = m.layers; backward && i-- > 0;) order.push_back(block_unit(i));
  return order;
}

void Llama::embed(const std::int32_t* tokens, WeightProvider& weights, const Tensor& out) {
  const UnitScope unit = work_for(embedding_unit);
  const Tensor table = weights.gather(embedding_unit)[0];
  const ArenaScope scope(scratch_);
  const Tensor partial = partial_of(op_, out);  // a row comes from the one rank that has the token
  op_.kernels.embedding_forward(op_.stream, {.tokens = tokens,
                                             .table = table.data,
                                             .out = partial.data,
                                             .dtype = table.dtype,
                                             .n = shape_.tokens(),
                                             .vocab = part_.vocab_size,
                                             .dim = part_.dim,
                                             .vocab_begin = settings_.tp.index * part_.vocab_size});
  scatter_rows(op_, partial, out);
  weights.release(embedding_unit);
}

void Llama::embed_backward(const std::int32_t* tokens, const Tensor& dh, GradientSink& gradients) {
  const UnitScope unit = work_for(embedding_unit);
  const GradientTarget target = gradients.open(embedding_unit)[0];
  const ArenaScope scope(scratch_);
  EmbeddingBackward args{.tokens = tokens,
                         .d_out = gather_rows(op_, dh).data,
                         .dtype = dh.dtype,
                         .d_table = static_cast<float*>(target.tensor.data),
                         .accumulate = target.accumulate,
                         .n = shape_.tokens(),
                         .vocab = part_.vocab_size,
                         .dim = part_.dim,
                         .vocab_begin = settings_.tp.index * part_.vocab_size};
  args.workspace = scratch_.allocate(op_.kernels.embedding_backward_workspace(args));
  op_.kernels.embedding_backward(op_.stream, args);
  gradients.close(embedding_unit);
}

BlockActivations Llama::allocate_block(std::int64_t layer, bool recomputes) {
  const ArenaScope in_turns(recomputed_);
  return BlockActivations::allocate({activations_, recomputed_, recomputes ? recompute_.kept : ActivationSet::all()},
                                    part_, shape_, recipes_[static_cast<std::size_t>(layer)], {scaling_.get(), layer});
}

std::vector<BlockActivations> Llama::forward_blocks(const std::int32_t* tokens, WeightProvider& weights,
                                                    const Tensor& branch, bool reuse) {
  const StepPartScope part(StepPart::forward);
  const std::int64_t layers = settings_.model.layers, begin = activations_.mark();
  std::vector<BlockActivations> blocks;
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    if (reuse) activations_.rewind(begin);
    blocks.push_back(allocate_block(layer, reuse || recompute_.applies(layer)));
    BlockActivations& a = blocks.back();
    if (layer == 0) embed(tokens, weights, a.h);

    const int unit = block_unit(layer);
    const UnitScope unit_scope = work_for(unit);
    const auto w = weights.gather(unit);
    if (layer == 0) {
      block_forward(pass(layer), unit, w, a.h, {}, a, branch);
    } else {
      block_forward(pass(layer), unit, w, blocks[static_cast<std::size_t>(layer - 1)].h_middle, branch, a, branch);
    }
    weights.release(unit);
  }
  return blocks;
}

std::pair<Tensor, Tensor> Llama::gather_head(WeightProvider& weights) {
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

void Llama::head_backward(const std::int32_t* targets, float loss_scale, float* loss_sum, const BlockActivations& last,
                          const Tensor& branch, const Tensor& dh, float* dh_amax, WeightProvider& weights,
                          GradientSink& gradients) {
  const int unit = head_unit(settings_.model);
  const UnitScope unit_scope = work_for(unit);
  const auto [norm, output] = gather_head(weights);
  const auto head_gradients = gradients.open(unit);
  const GradientTarget d_norm = head_gradients[0];
  const GradientTarget d_output =
      settings_.model.tied_embedding ? gradients.open(embedding_unit)[0] : head_gradients[1];
  head_.forward_backward(norm, output, d_norm, d_output, last.h_middle, branch, targets, loss_scale, loss_sum, dh,
                         dh_amax);
  gradients.close(unit);
  release_head(weights);
}

void Llama::forward_backward(const std::int32_t* tokens, const std::int32_t* targets, float loss_scale, float* loss_sum,
                             WeightProvider& weights, GradientSink& gradients) {
  const ArenaScope scope(activations_);
  const Tensor branch = take(activations_, shape_.storage, shape_.rows(), part_.dim);
  const Tensor dh = take(activations_, shape_.storage, shape_.rows(), part_.dim);
  QuantScale dh_scale = scale_of_dh(settings_.model.layers - 1);
  weights.begin_pass(pass_order(settings_.model, true));

  std::vector<BlockActivations> blocks = forward_blocks(tokens, weights, branch, false);
  const StepPartScope part(StepPart::backward);
  head_backward(targets, loss_scale, loss_sum, blocks.back(), branch, dh, dh_scale.amax, weights, gradients);
  for (std::int64_t layer = settings_.model.layers; layer-- > 0;) {
    const int unit = block_unit(layer);
    const UnitScope unit_scope = work_for(unit);
    const auto w = weights.gather(unit);
    const QuantScale below = scale_of_dh(layer - 1);
    BlockActivations& a = blocks[static_cast<std::size_t>(layer)];
    if (recompute_.again(layer)) block_recompute(pass(layer), unit, w, recompute_.kept, a, branch);
    block_backward(pass(layer), unit, w, gradients.open(unit), a, dh, dh_scale, below.amax);
    dh_scale = below;
    gradients.close(unit);
    weights.release(unit);
  }
  embed_backward(tokens, dh, gradients);
  scaling_->record(op_.stream, op_.kernels);
}

void Llama::evaluate(const std::int32_t* tokens, const std::int32_t* targets, float* loss_sum,
                     WeightProvider& weights) {
  const StepPartScope part(StepPart::forward);
  const ArenaScope scope(activations_);
  const Tensor branch = take(activations_, shape_.storage, shape_.rows(), part_.dim);
  weights.begin_pass(pass_order(settings_.model, false));
  const std::vector<BlockActivations> blocks = forward_blocks(tokens, weights, branch, true);
  const UnitScope unit = work_for(head_unit(settings_.model));
  const auto [norm, output] = gather_head(weights);
  head_.forward(norm, output, blocks.back().h_middle, branch, targets, loss_sum);
  release_head(weights);
}

}  // namespace octet
