#pragma once

#include <algorithm>
#include <vector>

#include "src/model/activations.h"
#include "src/ops/tensor_checks.h"
#include "src/tensor/gradient_sink.h"

namespace octet {

/// Tokens whose likelihood is asked for, each behind a token of a micro-batch: on the device.
struct ScoredTokens {
  /// [n]: the token whose logits are read, by its number among all of the micro-batch, in any order, also twice.
  const std::int32_t* predicted_from = nullptr;
  const std::int32_t* targets = nullptr;  ///< [n] ids
  std::int64_t n = 0;
  /// [n · 3 · parts]: for one chunk of Head::scored_rows(n) tokens after the other (the last one has the rest), what
  /// CrossEntropyStats says of each part of the vocabulary, [parts, 3, tokens of the chunk]. On every rank of a tp
  /// group.
  float* stats = nullptr;
  /// [n, vocab of this rank] fp32: the logits themselves, and no stats. Null: they are not wanted.
  float* logits = nullptr;
};

/// How likely a token is behind those before it.
struct TokenLikelihood {
  double log_probability = 0;  ///< natural log
  bool best = false;           ///< no token is more likely
};

/// The likelihood of every scored token, from the stats in host memory. `chunk`: Head::scored_rows.
std::vector<TokenLikelihood> likelihoods(const float* stats, std::int64_t n, std::int64_t chunk, int parts);

struct HeadWeights {
  Tensor norm;    ///< [dim]
  Tensor output;  ///< [vocab, dim]
};

struct HeadGradients {
  GradientTarget norm, output;
};

/// Final norm, output projection and cross-entropy, in chunks of tokens so that the logits never exist whole.
struct Head {
  OpContext& op;
  const ModelConfig& model;  ///< this rank's part
  BatchShape shape;
  const TensorChecks& checks;

  /// Tokens of a chunk: as many as `logits_bytes` hold fp32 logits of, in multiples of 16, of many in multiples of 256,
  /// in which GPUs multiply: 2048 for a vocabulary of 128,256 and a GPU's 1 GiB, four for 8192 tokens. Of a small
  /// vocabulary no more than keeps the chunk in the caches (1024 for the CPU's 256 MiB).
  static std::int64_t chunk_tokens(std::int64_t vocab_size, std::int64_t logits_bytes);

  /// Adds the sum of the token losses (natural log) to *loss_sum. Under tensor parallelism the targets are those of all
  /// tokens, and every rank of the group computes all losses.
  void forward(const HeadWeights& weights, const BlockResult& h, const std::int32_t* targets, float* loss_sum) const;

  /// Computes the logits of the scored tokens alone.
  void score(const HeadWeights& weights, const BlockResult& h, const ScoredTokens& scored) const;
  std::int64_t scored_rows(std::int64_t n) const {
    return std::min({n, shape.tokens(), chunk_tokens(model.vocab_size, op.kernels.logits_bytes)});
  }

  /// The same as forward, and the gradients of loss_scale · sum of losses: of the weights into `gradients`, of the
  /// residual stream into dh [r, dim], as the block below wants it. One pass, because the loss is where backward
  /// starts.
  void forward_backward(const HeadWeights& weights, const HeadGradients& gradients, const BlockResult& h,
                        const std::int32_t* targets, float loss_scale, float* loss_sum, const OutputGradient& dh) const;
};

}  // namespace octet
