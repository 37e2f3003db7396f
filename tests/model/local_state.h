#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "src/model/llama.h"
#include "tests/support/numbers.h"

namespace octet::test {

/// Whole weights and gradients of a model in plain vectors, with scalar casts of its own: a provider and a sink for
/// tests of the model alone.
class LocalState final : public WeightProvider, public GradientSink {
 public:
  explicit LocalState(const ParameterList& list) : list_(list) {
    for (const ParameterSpec& p : list.parameters) {
      const auto id = static_cast<std::uint32_t>(p.id);
      // Larger than the usual initial values: the layers of so small a model shall matter to its loss.
      masters.push_back(random_values(p.shape.elements(), id, p.init_std == 0 ? 0.1 : 0.1 / std::max(1.0, p.init_std)));
      for (float& w : masters.back()) w += p.init_std == 0 ? 1.0f : 0.0f;
      gradients.emplace_back(masters.back().size(), 0.0f);
    }
  }

  void begin_pass(std::span<const int> order) override { order_.assign(order.rbegin(), order.rend()); }

  std::span<const Tensor> gather(int unit) override {
    if (order_.empty() || order_.back() != unit) throw internal_error("tests", "unit {} out of order", unit);
    order_.pop_back();
    auto& place = gathered_[unit];
    place = {};
    const auto [first, last] = list_.range(unit);
    for (std::size_t i = first; i < last; ++i) place.tensors.push_back(cast(i, place));
    return place.tensors;
  }
  void release(int unit) override {
    for (auto& bytes : gathered_[unit].memory)
      std::fill(bytes.begin(), bytes.end(), 0xFF);  // NaN to whoever still reads
  }

  std::span<const GradientTarget> open(int unit) override {
    auto& targets = targets_[unit];
    const bool again = !targets.empty();
    targets.clear();
    const auto [first, last] = list_.range(unit);
    for (std::size_t i = first; i < last; ++i) {
      if (!again) std::fill(gradients[i].begin(), gradients[i].end(), NAN);  // to be overwritten
      targets.push_back({view(gradients[i], list_.parameters[i].shape), again});
    }
    return targets;
  }
  void close(int unit) override { targets_[unit].clear(); }

  std::size_t index(const std::string& name) const {
    for (std::size_t i = 0; i < list_.parameters.size(); ++i) {
      if (list_.parameters[i].name == name) return i;
    }
    throw internal_error("tests", "no parameter {}", name);
  }
  bool pass_done() const { return order_.empty(); }

  std::vector<std::vector<float>> masters, gradients;

 private:
  struct Gathered {
    std::vector<std::vector<std::uint8_t>> memory;
    std::vector<std::unique_ptr<float>> inverse;
    std::vector<Tensor> tensors;
  };

  Tensor cast(std::size_t i, Gathered& place) const {
    const ParameterSpec& p = list_.parameters[i];
    const std::vector<float>& w = masters[i];
    auto& bytes = place.memory.emplace_back(w.size() * static_cast<std::size_t>(size_of(p.gathered)));
    float scale = 1;
    if (p.gathered == DType::e4m3) {
      float amax = 0;
      for (const float x : w) amax = std::isnan(x) || std::isnan(amax) ? NAN : std::max(amax, std::abs(x));
      scale = static_cast<float>(448.0 / (amax < 1e-12 ? 1e-12 : double{amax}));
    }
    for (std::size_t e = 0; e < w.size(); ++e) {
      if (p.gathered == DType::f32) std::memcpy(&bytes[4 * e], &w[e], 4);
      const bf16 half(w[e]);
      if (p.gathered == DType::bf16) std::memcpy(&bytes[2 * e], &half, 2);
      if (p.gathered == DType::e4m3) bytes[e] = e4m3(w[e] * scale).bits;
    }
    place.inverse.push_back(std::make_unique<float>(1.0f / scale));
    return {bytes.data(), p.gathered, p.shape, is_float8(p.gathered) ? place.inverse.back().get() : nullptr};
  }

  const ParameterList& list_;
  std::vector<int> order_;
  std::map<int, Gathered> gathered_;
  std::map<int, std::vector<GradientTarget>> targets_;
};

/// A small model that has everything: several blocks, grouped queries, ffn wider than dim, dimensions that fp8 can do.
inline ModelConfig small_model(bool tied = false) {
  ModelConfig m;
  m.name = "small";
  m.dim = 32;
  m.layers = 3;
  m.heads = 4;
  m.kv_heads = 2;
  m.ffn_dim = 64;
  m.vocab_size = 48;
  m.tied_embedding = tied;
  m.finish();
  return m;
}

/// A model on the CPU with its local state and one micro-batch of tokens.
struct LocalModel {
  explicit LocalModel(Precision precision, bool tied = false, Float8Config float8 = {}, RecomputeConfig recompute = {},
                      std::int64_t micro_batch = 2, std::int64_t seq_len = 16)
      : LocalModel(LlamaSettings{.model = small_model(tied),
                                 .precision = precision,
                                 .float8 = float8,
                                 .micro_batch = micro_batch,
                                 .seq_len = seq_len,
                                 .recompute = recompute,
                                 .documents = true}) {}
  explicit LocalModel(const LlamaSettings& of_model) : settings(of_model), llama(settings, *stream, exchange, &gemms) {
    for (std::int64_t i = 0; i < tokens_count(); ++i) {
      tokens.push_back(static_cast<std::int32_t>(random_bits({.seed = 3, .stream = 0}, std::uint64_t(i)) % 48));
      targets.push_back(static_cast<std::int32_t>(random_bits({.seed = 3, .stream = 1}, std::uint64_t(i)) % 48));
    }
  }
  std::int64_t tokens_count() const { return settings.micro_batch * settings.seq_len; }

  /// Mean loss; gradients of it are left in `state`.
  double forward_backward() {
    float sum = 0;
    const auto n = static_cast<float>(tokens_count());
    llama.forward_backward(batch(1.0f / n, sum), state, state);
    return double{sum} / double{n};
  }
  double evaluate() {
    float sum = 0;
    llama.evaluate(batch(1.0f, sum), state);
    return double{sum} / static_cast<double>(tokens_count());
  }

  MicroBatch batch(float loss_scale, float& sum) {
    return {tokens.data(),
            targets.data(),
            loss_scale,
            &sum,
            {.begin = document_begin.empty() ? nullptr : document_begin.data()}};
  }

  std::unique_ptr<Stream> stream = cpu_device().make_stream();
  LlamaSettings settings;
  NoExchange exchange;
  GemmTrace gemms;
  Llama llama;
  LocalState state{llama.parameters()};
  std::vector<std::int32_t> tokens, targets;
  std::vector<std::int32_t> document_begin;  ///< empty: every row is one document
};

}  // namespace octet::test
