#pragma once

#include <string>

#include "src/model/llama.h"

namespace octet {

/// FLOPs of a token's forward and backward pass over all tensor-parallel ranks, counted by a dry pass. Attention counts
/// whole score matrices, as ModelConfig::flops_per_token does.
struct StepFlops {
  double all = 0;
  double float8 = 0;      ///< those in fp8 GEMMs, without what is done again
  double recomputed = 0;  ///< those done again before backward
};
StepFlops step_flops(const LlamaSettings& settings, Stream& stream);

/// What a choice of recompute costs one rank.
struct RecomputeCost {
  std::int64_t activations = 0;  ///< bytes, as the memory plan has them
  double extra_flops = 0;        ///< FLOPs done again, as a part of ModelConfig::flops_per_token
};

/// Finds the cost by a dry pass with `recompute` in place of the settings' own.
RecomputeCost recompute_cost(LlamaSettings settings, const RecomputeConfig& recompute, Stream& stream);

/// Printed at start: none, full and what the settings choose.
std::string recompute_table(const LlamaSettings& settings, Stream& stream);

}  // namespace octet
