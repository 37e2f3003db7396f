// What the passes of llama.cpp run in: stages, arenas, slots and scales.
#include <algorithm>
#include <utility>

#include "src/model/checked_tensors.h"
#include "src/model/llama.h"

namespace octet {

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
      shape_{s.micro_batch, s.seq_len, storage_dtype(s.precision), s.tp, s.tp_keep_gathered && s.tp.count > 1},
      gemm_multiprocessors_(stages_.size()) {
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

Tensor Llama::begin(int index, SlotFor use, int number) {
  return begin(index, use, number, shape_, {});
}

Tensor Llama::begin(int index, SlotFor use, int number, const BatchShape& shape, const CachedTokens& cached) {
  const bool trains = use == SlotFor::training;
  Slot& slot = slots_.at(static_cast<std::size_t>(index));
  if (slot.progress == Progress::forwarded || slot.progress == Progress::weights_left) {
    throw internal_error("model", "slot {} holds a micro-batch whose backward is not done", index);
  }
  slot.progress = Progress::begun;
  slot.trains = trains;
  slot.stage = &stage(number);
  slot.shape = shape;
  slot.cached = cached;
  slot.gemm_multiprocessors =
      trains ? std::exchange(gemm_multiprocessors_[static_cast<std::size_t>(number)], std::int64_t{0}) : 0;
  slot.activations.rewind(0);
  slot.blocks.clear();
  slot.deferred.clear();
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

}  // namespace octet
