#include <utility>
#include <vector>

#include "src/model/dry_state.h"
#include "src/model/llama.h"

namespace octet {

/// A model on a device without memory, with arenas that measure: its passes do nothing but tell what they would do.
struct Llama::Dry {
  const LlamaSettings& settings;
  std::unique_ptr<Device> device;
  std::unique_ptr<Stream> stream;
  Llama llama;
  DryWeights weights;
  DryGradients gradients;

  /// `like`: a stream of the device that is planned for. `log`, if any, is told of the work.
  Dry(const LlamaSettings& s, const Stream& like, const KernelTable& kernels, Exchange& exchange, GemmTrace* gemms,
      WorkLog* log)
      : settings(s),
        device(make_dry_device(like.device().type(), like.device().workspaces(), log)),
        stream(device->make_stream()),
        llama(s, *stream, exchange, gemms, dry_twin_of(kernels), one_slot(), Arena::measure("scratch"),
              Arena::measure("recomputed activations")),
        weights(llama.parameters_),
        gradients(llama.parameters_, s.gemm_gradient_dtype) {}

  static std::vector<Arena> one_slot() {  // the others are like it
    std::vector<Arena> slot;
    slot.push_back(Arena::measure("activations"));
    return slot;
  }
  int stages() const { return static_cast<int>(llama.stages_.size()); }

  void train() {
    for (int stage = 0; stage < stages(); ++stage) {
      llama.begin(0, PassMode::training, stage);
      llama.forward(0, {}, weights, &gradients);
      if (settings.slots > 1) llama.recomputed_of_ = nobody;  // other slots have come between
      if (!settings.split_backward) {
        llama.backward(0, weights, gradients);
      } else {
        llama.backward_of_inputs(0, weights, gradients);
        llama.backward_of_weights(0, gradients);
      }
    }
  }
  void evaluate() {
    for (int stage = 0; stage < stages(); ++stage) {
      llama.begin(0, PassMode::forward_only, stage);
      llama.forward(0, {}, weights, nullptr);
    }
  }
  void score() { llama.score({.scored = {.n = llama.shape_.tokens()}}, weights); }
  /// Every size of pass, since scratch does not always grow with the number of tokens: kernels divide small work in
  /// another way.
  void extend() {
    const DeviceType type = device->type();
    const KeyValueCache cache(*device, llama.part_, llama.shape_.storage, settings.rows_of_cache(type));
    for (const std::int64_t tokens : settings.cached_passes(type)) {
      llama.extend({.scored = {.n = 1}, .cached = {.cache = &cache, .tokens = tokens, .longest = cache.rows()}},
                   weights);
    }
  }
  /// The passes that the settings are for.
  void passes() {
    if (!settings.forward_only) return train();
    settings.cache_rows > 0 ? extend() : score();
  }
  /// Ends the first step, from which on a recipe that remembers scales has them before the values.
  void finish_step() { llama.scaling_->finish_step(*stream, llama.kernels_); }
};

namespace {

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
  Dry dry(settings, stream, kernels_of(stream), exchange, &gemms, nullptr);
  dry.finish_step();
  dry.llama.forward_backward({}, dry.weights, dry.gradients);
}

Llama::MemoryNeeds Llama::plan(const LlamaSettings& settings, Stream& stream, const KernelTable& kernels,
                               WorkLog* log) {
  Gate gate(settings.forward_only ? nullptr : log);
  NoExchange exchange(settings.tp, settings.async_tp);
  Dry dry(settings, stream, kernels, exchange, nullptr, &gate);
  dry.passes();
  gate.to = nullptr;
  dry.finish_step();
  // Casts are made elsewhere once scales are known before the values.
  if (dry.llama.scaling_->known()) dry.passes();
  if (settings.cache_rows == 0) dry.evaluate();
  return dry.llama.used();
}

}  // namespace octet
