#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace octet {

/// Tokens and what comes behind them, whose likelihood is asked for. Where both together are longer than the model's
/// window and one token, tokens are left out at the left, as lm-eval-harness does.
struct ScoreRequest {
  std::vector<std::int32_t> context;       ///< not empty: at least what stands before a document
  std::vector<std::int32_t> continuation;  ///< not longer than the window
};

struct Score {
  double log_likelihood = 0;  ///< natural log, summed over the continuation's tokens
  bool greedy = true;         ///< none of them has a token in its place that is more likely
};

/// What is done so far, on all ranks: requests, and tokens that went through the model.
using ScoreProgress = std::function<void(std::int64_t requests, std::int64_t tokens)>;

/// A model that says how likely texts are. Every rank gives the same requests and gets the same scores; usage error of
/// all ranks together where some give others, or none.
class Scorer {
 public:
  virtual ~Scorer() = default;

  /// The most tokens that the model sees at once (its context length).
  virtual std::int64_t window() const = 0;
  /// Ids are in [0, vocab_size()).
  virtual std::int64_t vocab_size() const = 0;
  /// Scores in the order of the requests, which may be any: they are computed by length, and what several of them have
  /// in common at their beginning once where that pays. Collective. Usage error for an empty context, a continuation
  /// that is longer than the window, and an id that is none of the vocabulary; it says the number of the request.
  /// `progress` (may be empty) is called on every rank.
  virtual std::vector<Score> score(std::span<const ScoreRequest> requests, const ScoreProgress& progress) = 0;
};

}  // namespace octet
