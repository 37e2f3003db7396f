#pragma once

#include <string>

#include "src/model/llama.h"

namespace octet {

/// What a choice of recompute costs one rank.
struct RecomputeCost {
  std::int64_t activations = 0;  ///< bytes, as the memory plan has them
  double extra_flops = 0;        ///< as a part of ModelConfig::flops_per_token
};

/// By a dry run with `recompute` in place of the settings' own.
RecomputeCost recompute_cost(LlamaSettings settings, const RecomputeConfig& recompute, Stream& stream);

/// Printed at start: none, full and what the settings choose.
std::string recompute_table(const LlamaSettings& settings, Stream& stream);

}  // namespace octet
