#pragma once

#include <cstdint>
#include <span>

namespace octet {

/// How the next token is chosen from the logits: by the probabilities softmax(logits / temperature), of the most likely
/// tokens that have `top_p` of the whole between them (the one that reaches it is one of them), with the random number
/// of the seed and the token's position. The same logits give the same token on every device and in every layout.
struct Sampling {
  double temperature = 0;  ///< 0: the most likely token, the first of several
  double top_p = 1;        ///< in (0, 1]
  std::uint64_t seed = 0;
};

/// Usage error where a logit is not finite.
std::int32_t choose_token(std::span<const float> logits, const Sampling& sampling, std::int64_t position);

}  // namespace octet
