#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/model/rope_scaling.h"

namespace octet {

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
