#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "src/evaluate/scorer.h"

namespace octet {

/// A row of tokens that the model sees at once, in which the inputs of several requests stand one behind the other,
/// each a document of its own.
struct ScoreRow {
  std::vector<std::int32_t> tokens;  ///< as long as all rows: the rest are zeros, a document too
  std::vector<std::int32_t> begin;   ///< where the document of each token begins
  std::int64_t used = 0;             ///< tokens of requests
  std::vector<std::int32_t> behind;  ///< of each token that is scored: the place of the one before it
  std::vector<std::int32_t> targets;
  std::vector<std::int64_t> requests;  ///< whose continuations the targets are, one after the other
};

/// What goes through the model for some requests. It is a function of requests, window and length of a row alone.
struct ScorePlan {
  std::vector<ScoreRow> rows;
  std::int64_t tokens = 0;  ///< used, of all rows
};

/// Packs requests into rows of `row_tokens` >= window tokens. Of inputs of which one is the beginning of another the
/// longer is computed alone: choices of one token behind the same context go through the model once. The inputs are
/// laid out by length, the longest first, each where the least room is left behind it. Requests without a continuation
/// are in no row. Usage errors as Scorer::score.
ScorePlan pack_requests(std::span<const ScoreRequest> requests, std::int64_t window, std::int64_t row_tokens,
                        std::int64_t vocab_size);

}  // namespace octet
