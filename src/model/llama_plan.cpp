#include <utility>
#include <vector>

#include "src/model/llama.h"

namespace octet {
namespace {

/// Weights and gradients without memory, for the dry pass.
class NoWeights final : public WeightProvider {
 public:
  explicit NoWeights(const ParameterList& list) : list_(list) {}
  void begin_pass(std::span<const int>) override {}
  std::span<const Tensor> gather(int unit) override {
    unit_.clear();
    const auto [first, last] = list_.range(unit);
    for (std::size_t i = first; i < last; ++i) {
      unit_.push_back({nullptr, list_.parameters[i].gathered, list_.parameters[i].shape, nullptr});
    }
    return unit_;
  }
  void release(int) override {}

 private:
  const ParameterList& list_;
  std::vector<Tensor> unit_;
};

class NoGradients final : public GradientSink {
 public:
  /// `of_gemms`: dtype of the targets that one GEMM writes whole, which bears on the scratch of a GEMM.
  NoGradients(const ParameterList& list, DType of_gemms) : list_(list), of_gemms_(of_gemms) {}
  std::span<const GradientTarget> open(int unit) override {
    auto& targets = units_.emplace_back();
    const auto [first, last] = list_.range(unit);
    for (std::size_t i = first; i < last; ++i) {
      const ParameterSpec& p = list_.parameters[i];
      targets.push_back({{nullptr, p.one_gemm_gradient ? of_gemms_ : DType::f32, p.shape, nullptr}, false});
    }
    return targets;
  }
  void close(int) override {}

 private:
  const ParameterList& list_;
  DType of_gemms_;
  std::vector<std::vector<GradientTarget>> units_;
};

/// Hands on what it is told as long as it is open.
struct Gate final : WorkLog {
  explicit Gate(WorkLog* log) : to(log) {}
  double add(const Stream& stream, const Work& work, const Turn& turn) override {
    return to == nullptr ? 0 : to->add(stream, work, turn);
  }
  WorkLog* to;
};

}  // namespace

void Llama::run_dry(const LlamaSettings& settings, Stream& stream, Exchange& exchange, GemmTrace& gemms) {
  const auto device = make_dry_device(stream.device().type(), stream.device().workspaces(), nullptr);
  const auto nowhere = device->make_stream();
  const KernelTable kernels = dry_run(kernels_of(stream));
  std::vector<Arena> slot;
  slot.push_back(Arena::measure("activations"));
  Llama dry(settings, *nowhere, exchange, &gemms, kernels, std::move(slot), Arena::measure("scratch"),
            Arena::measure("recomputed activations"));
  NoWeights weights(dry.parameters_);
  NoGradients gradients(dry.parameters_, settings.gemm_gradients);
  dry.scaling_->finish_step(*nowhere, kernels);  // a recipe that remembers scales otherwise in its first step
  dry.forward_backward({}, weights, gradients);
}

Llama::MemoryNeeds Llama::plan(const LlamaSettings& settings, Stream& stream, const KernelTable& kernels,
                               WorkLog* log) {
  Gate gate(log);
  const auto device = make_dry_device(stream.device().type(), stream.device().workspaces(), &gate);
  const auto nowhere = device->make_stream();
  NoExchange exchange(settings.tp, settings.async_tp);
  std::vector<Arena> slot;  // one is like the other
  slot.push_back(Arena::measure("activations"));
  Llama dry(settings, *nowhere, exchange, nullptr, dry_run(kernels), std::move(slot), Arena::measure("scratch"),
            Arena::measure("recomputed activations"));
  NoWeights weights(dry.parameters_);
  NoGradients gradients(dry.parameters_, settings.gemm_gradients);
  const auto stages = static_cast<int>(dry.stages_.size());
  const auto train = [&] {
    for (int stage = 0; stage < stages; ++stage) {
      dry.begin(0, SlotFor::training, stage);
      dry.forward(0, {}, weights, &gradients);
      if (settings.slots > 1) dry.recomputed_of_ = nobody;  // other slots have come between
      if (!settings.split_backward) {
        dry.backward(0, weights, gradients);
      } else {
        dry.backward_of_inputs(0, weights, gradients);
        dry.backward_of_weights(0, gradients);
      }
    }
  };
  // Scratch does not grow with a pass's tokens throughout: kernels divide their work otherwise when it is little.
  const auto extend = [&] {
    const KeyValueCache cache(*device, dry.part_, dry.shape_.storage, settings.rows_of_cache(stream.device().type()));
    for (const std::int64_t tokens : settings.cached_passes(stream.device().type())) {
      dry.extend({.scored = {.n = 1}, .cached = {.cache = &cache, .tokens = tokens, .longest = cache.rows()}}, weights);
    }
  };
  const auto forward_alone = [&] {
    settings.cache_rows > 0 ? extend() : dry.score({.scored = {.n = dry.shape_.tokens()}}, weights);
  };
  if (!settings.forward_only) train();
  gate.to = nullptr;
  if (settings.forward_only) forward_alone();
  dry.scaling_->finish_step(*nowhere, dry.kernels_);
  if (dry.scaling_->known()) {  // casts are made elsewhere once scales are known before the values
    settings.forward_only ? forward_alone() : train();
  }
  if (settings.cache_rows > 0) return dry.used();
  for (int stage = 0; stage < stages; ++stage) {
    dry.begin(0, SlotFor::forward, stage);
    dry.forward(0, {}, weights, nullptr);
  }
  return dry.used();
}

}  // namespace octet
