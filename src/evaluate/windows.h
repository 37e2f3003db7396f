#pragma once

#include <cstdint>
#include <vector>

namespace octet {

/// A stretch of a document that the model is asked for at once. Places count the document's tokens from 0; -1 is the
/// token that stands before it.
struct Window {
  std::int64_t context = -1;  ///< first token that the model sees
  std::int64_t first = 0;     ///< first token that is predicted: the model sees those before it from `context` on
  std::int64_t end = 0;       ///< behind the last one

  bool operator==(const Window&) const = default;
};

/// The windows that predict each token of a document of `tokens` tokens once, with a model that sees `window` tokens.
/// `stride` tokens are predicted by each but the first, which predicts `window`, and the last, which predicts the rest;
/// each but the first sees as many tokens as there are before them, up to `window`. With stride = window they are
/// disjoint but for the last one, which keeps its whole context. As lm-eval-harness: get_rolling_token_windows and
/// make_disjoint_window of lm_eval/utils.py, with context_len = window - stride + 1. None for an empty document.
std::vector<Window> rolling_windows(std::int64_t tokens, std::int64_t window, std::int64_t stride);

}  // namespace octet
