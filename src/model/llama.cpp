#include "src/model/llama.h"

#include <algorithm>
#include <utility>

#include "src/model/tensors.h"
#include "src/ops/norm.h"
#include "src/ops/quantize.h"
#include "src/ops/rows.h"

namespace octet {

std::int64_t LlamaSettings::cached_multiple(DeviceType device) const {
  const RecipePtr recipe = recipe_of(precision, float8);
  if (!recipe->float8()) return tp.count;
  // 16 is a rule of cuBLASLt; where scales lie along sums, they are for whole blocks on every device.
  const bool everywhere = recipe->multiple() > plain_recipe()->multiple();
  return tp.count * (everywhere || device == DeviceType::cuda ? recipe->multiple() : 1);
}

std::vector<std::int64_t> LlamaSettings::cached_passes(DeviceType device) const {
  const std::int64_t multiple = cached_multiple(device), most = micro_batch * seq_len;
  const std::int64_t step = (most / 16 + multiple - 1) / multiple * multiple;
  std::vector<std::int64_t> passes{multiple};
  for (std::int64_t tokens = std::max(step, 2 * multiple); tokens < most; tokens += std::max(step, multiple)) {
    passes.push_back(tokens);
  }
  if (most > passes.back()) passes.push_back(most);
  return passes;
}

std::vector<Llama::Stage> Llama::stages_of(const LlamaSettings& s) {
  std::vector<Stage> stages;
  const std::vector<UnitRange> whole{{0, head_unit(s.model) + 1}};
  for (const UnitRange& units : s.stages.empty() ? whole : s.stages) {
    const std::int64_t first = std::max(units.begin - block_unit(0), 0);
    const auto end = std::min<std::int64_t>(units.end - block_unit(0), s.model.layers);
    if (first >= end) {
      throw internal_error("model", "units {} to {} are no stage: it needs a block", units.begin, units.end - 1);
    }
    stages.push_back({units, first, end, RecomputePolicy::of(s.recompute, end)});
  }
  return stages;
}

Llama::Llama(const LlamaSettings& s, Stream& stream, Exchange& exchange, GemmTrace* gemms, const KernelTable& kernels,
             std::vector<Arena> activations, Arena scratch, Arena recomputed)
    : settings_(s),
      part_(s.model.part(s.tp.count)),
      stages_(stages_of(s)),
      parameters_(llama_parameters(s.model, s.precision, s.float8, s.tp).part([&](int unit) {
        return std::ranges::any_of(stages_, [&](const Stage& stage) {
          return stage.units.has(unit) || (unit == embedding_unit && s.model.tied_embedding && has_head(stage));
        });
      })),
      kernels_(kernels),
      scratch_(std::move(scratch)),
      recomputed_(std::move(recomputed)),
      rope_(stream.device(), stream, std::max(s.seq_len, s.cache_rows), s.model.rope_frequencies()),
      checks_(stream.device(), stream, parameters_.units, checked_tensor_names()),
      op_{stream, kernels_, scratch_, exchange, gemms},
      shape_{s.micro_batch, s.seq_len, storage_dtype(s.precision), s.tp, s.tp_keep_gathered && s.tp.count > 1} {
  blocks_.reserve(static_cast<std::size_t>(s.model.layers));
  for (std::int64_t layer = 0; layer < s.model.layers; ++layer) {
    blocks_.emplace_back(block_recipes(s.model, s.precision, s.float8, layer));
  }
  recipe_ = recipe_of(s.precision, s.float8);
  scaling_ = recipe_->make_scaling(cast_counts(s.model, parameters_), stream);
  for (Arena& arena : activations) slots_.push_back({.activations = std::move(arena)});
  if (exchange.part() != s.tp) throw internal_error("model", "the exchange is of another part than the model");
  if (shape_.tokens() % s.tp.count != 0) {
    throw internal_error("model", "{} tokens cannot be cut into {} parts", shape_.tokens(), s.tp.count);
  }
}

namespace {

std::vector<Arena> arenas_of_slots(const LlamaSettings& s, Stream& stream, std::int64_t bytes) {
  std::vector<Arena> arenas;
  arenas.reserve(static_cast<std::size_t>(s.slots));
  for (int i = 0; i < s.slots; ++i) {
    arenas.emplace_back(stream.device(), bytes, Purpose::activations, "activations");
  }
  return arenas;
}

}  // namespace

Llama::Llama(const LlamaSettings& s, Stream& stream, Exchange& exchange, GemmTrace* gemms, const MemoryNeeds& needs,
             const KernelTable& kernels)
    : Llama(s, stream, exchange, gemms, kernels, arenas_of_slots(s, stream, needs.activations),
            Arena(stream.device(), needs.scratch, Purpose::workspace, "scratch"),
            Arena(stream.device(), needs.recomputed, Purpose::activations, "recomputed activations")) {}

Llama::MemoryNeeds Llama::used() const {
  std::int64_t activations = 0;
  for (const Slot& s : slots_) activations = std::max(activations, s.activations.high_water());
  return {activations, scratch_.high_water(), recomputed_.high_water()};
}

UnitScope Llama::work_for(int unit) {
  const std::string& name = parameters_.units[static_cast<std::size_t>(unit)];
  op_.exchange.set_unit(name);
  if (op_.gemms != nullptr) op_.gemms->set_unit(name);
  return UnitScope(name);
}

BlockPass Llama::pass(const Slot& slot, std::int64_t layer) {
  BlockPass pass{op_,   part_,   slot.shape,         slot.documents, blocks_[static_cast<std::size_t>(layer)],
                 rope_, checks_, scales(slot, layer)};
  if (const CachedTokens& c = slot.cached; c.cache != nullptr) {
    pass.cached = {c.cache->keys(layer), c.cache->values(layer), c.spans, c.longest};
  }
  return pass;
}

OutputGradient Llama::gradient_of(Slot& slot, std::int64_t layer) {
  if (layer < slot.stage->first_layer) return {.dy = slot.dh};
  const BlockRecipes& recipes = blocks_[static_cast<std::size_t>(layer)].recipes;
  OutputGradient dh{slot.dh, scales(slot, layer).gradient(recipes, w2, slot.activations)};
  if (dh.scale.known) {
    dh.quantized = {slot.dh_codes, recipes[w2]->grad_output_format(), slot.dh.shape, dh.scale.inverse};
  }
  return dh;
}

std::int64_t Llama::amax_bytes(const Slot& slot) const {
  if (!recipe_->casts_first()) return 0;
  return 4 * (slot.stage->end_layer - slot.stage->first_layer) * (block_inputs + (slot.trains ? block_linears : 0));
}

float* Llama::gradient_amaxes(const Slot& slot) {
  if (slot.amaxes == nullptr) return nullptr;
  return slot.amaxes + (slot.stage->end_layer - slot.stage->first_layer) * block_inputs;
}

BlockScales Llama::scales(const Slot& slot, std::int64_t layer) const {
  BlockScales of{scaling_.get(), layer};
  if (slot.amaxes == nullptr) return of;
  const std::int64_t block = layer - slot.stage->first_layer;
  of.input_amax = slot.amaxes + block * block_inputs;
  if (slot.trains) of.gradient_amax = gradient_amaxes(slot) + block * block_linears;
  return of;
}

void Llama::record_forward(const Slot& slot) {
  const auto [first, end] = std::pair{slot.stage->first_layer, slot.stage->end_layer};
  scaling_->record(op_.stream, op_.kernels, CastKind::input, first * block_inputs, (end - first) * block_inputs,
                   slot.amaxes);
}

void Llama::record_backward(const Slot& slot) {
  const auto [first, end] = std::pair{slot.stage->first_layer, slot.stage->end_layer};
  scaling_->record(op_.stream, op_.kernels, CastKind::gradient, first * block_linears, (end - first) * block_linears,
                   gradient_amaxes(slot));
  scaling_->record(op_.stream, op_.kernels, CastKind::weight, 0, parameters_.casts, scaling_->weights().amax);
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

void Llama::embed(const Slot& slot, WeightProvider& weights, const Tensor& out) {
  const UnitScope unit = work_for(embedding_unit);
  const Tensor table = weights.gather(embedding_unit)[0];
  const ArenaScope scope(scratch_);
  const Tensor partial = partial_of(op_, out);  // a row comes from the one rank that has the token
  op_.kernels.embedding_forward(op_.stream, {.tokens = slot.tokens,
                                             .table = table.data,
                                             .out = partial.data,
                                             .dtype = table.dtype,
                                             .n = slot.shape.tokens(),
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

BlockActivations Llama::allocate_block(Slot& slot, std::int64_t layer) {
  const RecomputePolicy& policy = slot.stage->recompute;
  const bool recomputes = !slot.trains || policy.applies(layer);
  const ArenaScope in_turns(recomputed_);
  BlockActivations a =
      BlockActivations::allocate({slot.activations, recomputed_, recomputes ? policy.kept : ActivationSet::all(),
                                  slot.trains && kernels_.float8_gemm_k_major},
                                 part_, slot.shape, blocks_[static_cast<std::size_t>(layer)], scales(slot, layer));
  if (const CachedTokens& c = slot.cached; c.cache != nullptr) {
    a.k = c.cache->keys(layer).rows(c.first, c.tokens);
    a.v = c.cache->values(layer).rows(c.first, c.tokens);
  }
  return a;
}

Llama::Slot& Llama::slot(int index, Progress expected) {
  Slot& slot = slots_.at(static_cast<std::size_t>(index));
  if (slot.progress != expected) {
    throw internal_error("model", "slot {}: begin, forward and backward of a micro-batch follow each other", index);
  }
  return slot;
}

Tensor Llama::begin(int index, bool trains, int number) {
  return begin(index, trains, number, shape_, {});
}

Tensor Llama::begin(int index, bool trains, int number, const BatchShape& shape, const CachedTokens& cached) {
  Slot& slot = slots_.at(static_cast<std::size_t>(index));
  if (slot.progress == Progress::forwarded || slot.progress == Progress::weights_left) {
    throw internal_error("model", "slot {} holds a micro-batch whose backward is not done", index);
  }
  slot.progress = Progress::begun;
  slot.trains = trains;
  slot.stage = &stage(number);
  slot.shape = shape;
  slot.cached = cached;
  slot.activations.rewind(0);
  slot.blocks.clear();
  slot.late.clear();
  slot.amaxes = nullptr;
  if (const std::int64_t bytes = amax_bytes(slot); bytes > 0) {
    slot.amaxes = static_cast<float*>(slot.activations.allocate(bytes));
    if (slot.amaxes != nullptr) op_.stream.device().zero(slot.amaxes, bytes, op_.stream);
  }
  slot.branch = take(slot.activations, shape.storage, shape.rows(), part_.dim);
  if (trains || !has_head(*slot.stage)) slot.dh = take(slot.activations, shape.storage, shape.rows(), part_.dim);
  if (trains && scaling_->known()) slot.dh_codes = slot.activations.allocate(slot.dh.elements());
  slot.top = trains ? gradient_of(slot, slot.stage->end_layer - 1) : OutputGradient{};
  slot.first = slot.activations.mark();
  slot.blocks.push_back(allocate_block(slot, slot.stage->first_layer));
  return slot.blocks.front().h;
}

/// Without training one set of activations serves every block.
void Llama::forward_blocks(Slot& slot, WeightProvider& weights) {
  const StepPartScope part(StepPart::forward);
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

/// Residual and branch as one: as the next norm would sum them, by its kernel. What that makes beside the sum, with
/// whatever weight, is not used.
void Llama::leave_stream(const Slot& slot, const Tensor& norm) {
  const ArenaScope scope(scratch_);
  const Tensor normed = take(scratch_, shape_.storage, shape_.rows(), part_.dim);
  auto* inverse_rms = scratch_.allocate<float>(shape_.rows());
  add_rmsnorm(op_, slot.blocks.back().h_middle, slot.branch, norm, static_cast<float>(part_.norm_eps), slot.dh, normed,
              inverse_rms, {});
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

void Llama::head_forward(const MicroBatch& batch, const Slot& slot, WeightProvider& weights) {
  const StepPartScope part(StepPart::forward);
  const UnitScope unit = work_for(head_unit(settings_.model));
  const auto [norm, output] = gather_head(weights);
  head(slot.shape).forward(norm, output, slot.blocks.back().h_middle, slot.branch, batch.targets, batch.loss_sum);
  release_head(weights);
}

void Llama::head_score(const ScoredTokens& scored, const Slot& slot, WeightProvider& weights) {
  const StepPartScope part(StepPart::forward);
  const UnitScope unit = work_for(head_unit(settings_.model));
  const auto [norm, output] = gather_head(weights);
  head(slot.shape).score(norm, output, slot.blocks.back().h_middle, slot.branch, scored);
  release_head(weights);
}

void Llama::head_backward(const MicroBatch& batch, const Slot& slot, WeightProvider& weights, GradientSink& gradients) {
  const StepPartScope part(StepPart::backward);
  const int unit = head_unit(settings_.model);
  const UnitScope unit_scope = work_for(unit);
  const auto [norm, output] = gather_head(weights);
  const auto head_gradients = gradients.open(unit);
  const GradientTarget d_norm = head_gradients[0];
  const GradientTarget d_output =
      settings_.model.tied_embedding ? gradients.open(embedding_unit)[0] : head_gradients[1];
  head(slot.shape)
      .forward_backward(norm, output, d_norm, d_output, slot.blocks.back().h_middle, slot.branch, batch.targets,
                        batch.loss_scale, batch.loss_sum, slot.top);
  gradients.close(unit);
  if (settings_.model.tied_embedding && !slot.stage->units.has(embedding_unit)) gradients.close(embedding_unit);
  release_head(weights);
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
                           slot.late[static_cast<std::size_t>(layer - stage.first_layer)]);
    gradients.close(unit);
  }
  if (stage.units.has(embedding_unit)) embed_backward(slot.tokens, slot.dh, gradients);
}

/// The output gradient of the block's w2 goes where the block above has read its input for the last time.
LateGradients* Llama::late_of(Slot& slot, std::int64_t layer, bool split) {
  const Stage& stage = *slot.stage;
  if (!split || stage.recompute.applies(layer)) return nullptr;
  LateGradients& late = slot.late[static_cast<std::size_t>(layer - stage.first_layer)];
  late.arena = &slot.activations;
  late.w2.dy = layer + 1 < stage.end_layer ? block(slot, layer + 1).h
                                           : take(slot.activations, shape_.storage, shape_.rows(), part_.dim);
  for (Tensor* norm : {&late.ffn_norm, &late.attention_norm}) {
    *norm = {slot.activations.allocate(part_.dim * 4), DType::f32, {part_.dim}, nullptr};
  }
  return &late;
}

void Llama::backward_blocks(int index, WeightProvider& weights, GradientSink& gradients, bool split) {
  const StepPartScope part(StepPart::backward);
  Slot& slot = this->slot(index, Progress::forwarded);
  slot.progress = split ? Progress::weights_left : Progress::free;
  slot.late.resize(split ? slot.blocks.size() : 0);
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
      block_recompute(pass(slot, layer), unit, w, stage.recompute.kept, a, slot.branch);
    }
    LateGradients* late = late_of(slot, layer, split);
    block_backward(pass(slot, layer), unit, w, weights.transposed(unit),
                   late == nullptr ? gradients.open(unit) : std::span<const GradientTarget>{}, a, dh, below, late);
    dh = below;
    if (late == nullptr) gradients.close(unit);
    weights.release(unit);
  }
  record_backward(slot);
}

void Llama::forward_backward(const MicroBatch& batch, WeightProvider& weights, GradientSink& gradients) {
  std::vector<int> order = forward_units();
  for (const int unit : backward_units()) order.push_back(unit);
  begin(0);
  weights.begin_pass(order);
  forward(0, batch, weights, &gradients);
  backward(0, weights, gradients);
}

void Llama::evaluate(const MicroBatch& batch, WeightProvider& weights) {
  begin(0, false);
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
  begin(0, false, 0, shape, c);
  weights.begin_pass(forward_units());
  forward(0, batch, weights, nullptr);
}

}  // namespace octet
