#include "src/model/config.h"

#include <cmath>
#include <numbers>

#include "src/base/error.h"

namespace octet {
namespace {

void check_scaling(const std::string& name, const RopeScaling& scaling) {
  if (scaling.kind == RopeScalingKind::none) {
    if (scaling != RopeScaling{}) {
      throw usage_error("model",
                        "{}: rope_scaling = none, but a number of it is set (rope_factor, rope_low_freq_factor, "
                        "rope_high_freq_factor, rope_original_positions); expected rope_scaling = llama3",
                        name);
    }
    return;
  }
  if (!(scaling.factor >= 1)) throw usage_error("model", "{}: rope_factor = {}, expected >= 1", name, scaling.factor);
  if (!(scaling.low_freq_factor > 0)) {
    throw usage_error("model", "{}: rope_low_freq_factor = {}, expected > 0", name, scaling.low_freq_factor);
  }
  if (!(scaling.high_freq_factor > scaling.low_freq_factor)) {
    throw usage_error("model", "{}: rope_high_freq_factor = {}, expected > rope_low_freq_factor = {}", name,
                      scaling.high_freq_factor, scaling.low_freq_factor);
  }
  if (scaling.original_positions <= 0) {
    throw usage_error("model", "{}: rope_original_positions = {}, expected a positive integer", name,
                      scaling.original_positions);
  }
}

}  // namespace

std::int64_t ModelConfig::parameters() const {
  const std::int64_t attention = dim * (2 * q_dim() + 2 * kv_dim());
  const std::int64_t block = attention + 3 * dim * ffn_dim + 2 * dim;
  return vocab_size * dim * (tied_embedding ? 1 : 2) + layers * block + dim;
}

double ModelConfig::flops_per_token(double keys) const {
  const std::int64_t computing = parameters() - (tied_embedding ? 0 : embedding_parameters());
  return 6.0 * static_cast<double>(computing) +
         12.0 * static_cast<double>(layers) * static_cast<double>(q_dim()) * keys;
}

ModelConfig ModelConfig::part(int parts) const {
  ModelConfig m = *this;
  for (std::int64_t* extent : {&m.heads, &m.kv_heads, &m.ffn_dim, &m.vocab_size}) {
    if (*extent % parts != 0) throw internal_error("model", "{}: {} cannot be cut into {} parts", name, *extent, parts);
    *extent /= parts;
  }
  return m;
}

void ModelConfig::finish() {
  const auto positive = [&](const char* key, std::int64_t value) {
    if (value <= 0) throw usage_error("model", "{}: {} = {}, expected a positive integer", name, key, value);
  };
  positive("dim", dim);
  positive("layers", layers);
  positive("heads", heads);
  positive("kv_heads", kv_heads);
  positive("ffn_dim", ffn_dim);
  positive("vocab_size", vocab_size);
  if (head_dim == 0) {
    if (dim % heads != 0) {
      throw usage_error("model", "{}: dim = {} is not a multiple of heads = {}; set head_dim", name, dim, heads);
    }
    head_dim = dim / heads;
  }
  positive("head_dim", head_dim);
  if (head_dim % 2 != 0) throw usage_error("model", "{}: head_dim = {} must be even for RoPE", name, head_dim);
  if (heads % kv_heads != 0) {
    throw usage_error("model", "{}: heads = {} is not a multiple of kv_heads = {}", name, heads, kv_heads);
  }
  if (!(rope_theta > 0)) throw usage_error("model", "{}: rope_theta = {}, expected > 0", name, rope_theta);
  check_scaling(name, rope_scaling);
  if (!(norm_eps > 0)) throw usage_error("model", "{}: norm_eps = {}, expected > 0", name, norm_eps);
}

namespace {

double scaled(double frequency, const RopeScaling& by) {
  const double turns = static_cast<double>(by.original_positions) * frequency / (2 * std::numbers::pi);
  if (turns < by.low_freq_factor) return frequency / by.factor;
  if (turns > by.high_freq_factor) return frequency;
  const double s = (turns - by.low_freq_factor) / (by.high_freq_factor - by.low_freq_factor);
  return (1 - s) * frequency / by.factor + s * frequency;
}

}  // namespace

std::vector<double> rope_frequencies(std::int64_t head_dim, double theta, const RopeScaling& scaling) {
  std::vector<double> frequencies;
  frequencies.reserve(static_cast<std::size_t>(head_dim / 2));
  for (std::int64_t i = 0; i < head_dim / 2; ++i) {
    const double frequency = std::pow(theta, -2.0 * static_cast<double>(i) / static_cast<double>(head_dim));
    frequencies.push_back(scaling.kind == RopeScalingKind::llama3 ? scaled(frequency, scaling) : frequency);
  }
  return frequencies;
}

}  // namespace octet
