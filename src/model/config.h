#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/named_enum.h"

namespace octet {

/// How the frequencies of the rotary embedding are changed for contexts longer than those of pre-training.
enum class RopeScalingKind : std::uint8_t { none, llama3 };
constexpr auto names_of(RopeScalingKind) {
  return std::to_array<std::string_view>({"none", "llama3"});
}

/// The numbers of Llama 3.1's and 3.2's rule, those of 3.1 where nothing is said. Without a rule they have no meaning.
struct RopeScaling {
  RopeScalingKind kind = RopeScalingKind::none;
  double factor = 8.0;
  double low_freq_factor = 1.0;
  double high_freq_factor = 4.0;
  std::int64_t original_positions = 8192;  ///< in tokens

  bool operator==(const RopeScaling&) const = default;
};

/// Radians by which each pair of a head turns from one position to the next, [head_dim / 2]: f = theta^(-2i/head_dim).
/// llama3, with the wavelength w = 2 pi / f and original_positions n (transformers' modeling_rope_utils.py): f / factor
/// where w > n / low_freq_factor, f where w < n / high_freq_factor, and between them (1 - s) f / factor + s f with
/// s = (n / w - low_freq_factor) / (high_freq_factor - low_freq_factor).
std::vector<double> rope_frequencies(std::int64_t head_dim, double theta, const RopeScaling& scaling);

/// Shape of a Llama-3-architecture model: pre-norm RMSNorm, grouped-query attention with RoPE, SwiGLU, no biases.
struct ModelConfig {
  std::string name;
  std::int64_t dim = 0;
  std::int64_t layers = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;  ///< 0: dim / heads
  std::int64_t ffn_dim = 0;
  std::int64_t vocab_size = 0;
  double rope_theta = 500000.0;
  RopeScaling rope_scaling{};
  double norm_eps = 1e-5;
  bool tied_embedding = false;
  /// Tokens: the longest context that the model is for, which exports tell others; nothing here depends on it. 0: not
  /// said.
  std::int64_t max_positions = 0;

  std::int64_t q_dim() const { return heads * head_dim; }
  std::int64_t kv_dim() const { return kv_heads * head_dim; }
  std::vector<double> rope_frequencies() const { return octet::rope_frequencies(head_dim, rope_theta, rope_scaling); }
  std::int64_t parameters() const;
  /// Parameters of the token embedding (what MFU leaves out). A tied model has it once, as embedding.
  std::int64_t embedding_parameters() const { return vocab_size * dim; }
  /// 6 · (N - N_embedding) + 12 · layers · heads · head_dim · keys: forward and backward, no recompute (torchtitan
  /// models/utils.py). `keys`: tokens that attention is counted over, seq_len for all of it and, within documents,
  /// their mean length as a token sees it (the sum of the squares by the sum). A tied head computes with the embedding,
  /// so it is counted.
  double flops_per_token(double keys) const;

  /// What one of `parts` tensor-parallel ranks computes with: its share of heads, ffn and vocabulary. Internal error
  /// when something does not divide (the configuration is refused before).
  ModelConfig part(int parts) const;

  /// Fills head_dim; throws a usage error that names key and value for impossible shapes.
  void finish();
};

}  // namespace octet
