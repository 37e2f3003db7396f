// How a model is made, and what its passes are given.
#include <algorithm>
#include <utility>

#include "src/model/checked_tensors.h"
#include "src/model/llama.h"
#include "src/ops/recipes/recipe_list.h"

namespace octet {

Llama::Llama(const LlamaSettings& s, Stream& stream, Exchange& exchange, GemmTrace* gemms, const KernelTable& kernels,
             std::vector<Arena> activations, Arena scratch, Arena recomputed)
    : settings_(s),
      part_(s.model.part(s.tp.count)),
      stages_(stages_of(s)),
      parameters_(llama_parameters(s.model, s.precision, s.float8, s.tp).part([&](int unit) {
        return std::ranges::any_of(stages_, [&](const Stage& stage) {
          return stage.units.has(unit) || (unit == embedding_unit && s.model.tied_embedding && stage.has_head);
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
  linears_.reserve(static_cast<std::size_t>(s.model.layers));
  for (std::int64_t layer = 0; layer < s.model.layers; ++layer) {
    linears_.emplace_back(block_recipes(s.model, s.precision, s.float8, layer));
  }
  recipe_ = recipe_of(s.precision, s.float8);
  scaling_ = recipe_->make_scaling(cast_counts(s.model, parameters_), stream);
  const SlotContext common{op_, part_, linears_, *recipe_, *scaling_, recomputed_};
  for (Arena& arena : activations) slots_.push_back({common, std::move(arena)});
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
  BlockPass pass{op_,
                 part_,
                 slot.shape,
                 slot.documents,
                 rope_,
                 checks_,
                 block_unit(layer),
                 linears_[static_cast<std::size_t>(layer)],
                 slot.scales(layer)};
  if (const CachedTokens& c = slot.cached; c.cache != nullptr) {
    pass.cached = {c.cache->keys(layer), c.cache->values(layer), c.spans, c.longest};
  }
  return pass;
}

}  // namespace octet
