#pragma once

#include <cstdint>

#include "src/base/json_reader.h"

namespace octet::checkpoint {

/// Usage error with key and value where a config.json has a key with which a relative of Llama computes something that
/// Llama does not, and another value than the one that changes nothing: scaled or capped attention scores, logits,
/// embeddings and residuals, norms of queries and keys, RoPE of a part of a head or in some blocks, attention over a
/// part of a text, biases. The keys are a list: those that it lacks are not looked at.
void refuse_relatives(const JsonReader& config, std::int64_t head_dim);

}  // namespace octet::checkpoint
