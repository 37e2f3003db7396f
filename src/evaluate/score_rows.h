#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "src/base/round_up.h"
#include "src/evaluate/scorer.h"

namespace octet {

/// Rows are filled up with documents of this many tokens, the last one shorter: attention to a document costs the
/// square of its length, and a row may be as long as a window of 131,072 tokens. There are at most 128 of them, since
/// cuDNN's attention within documents is for 1,024 in a row (kernels/attention.h).
constexpr std::int64_t filling_tokens(std::int64_t row_tokens) {
  return std::max<std::int64_t>(128, ceil_div(row_tokens, 128));
}

/// A row of tokens that the model sees at once, in which the inputs of several requests stand one behind the other,
/// each a document of its own. Inputs that begin alike may stand there as one document with what they share and one for
/// the rest of each, whose tokens see both.
struct ScoreRow {
  std::vector<std::int32_t> tokens;  ///< as long as all rows: the rest are zeros, in documents too
  std::vector<std::int32_t> begin;   ///< where the document of each token begins
  /// The place in the row at which position 0 of the token's input would be: `begin`, except for the rest of an input,
  /// where it is before `begin` by the length of the shared part, and may be before the row.
  std::vector<std::int32_t> origin;
  /// 4 numbers a token, or none where nothing is shared: the two stretches of the row that a token of a rest sees,
  /// [first, end) of what is shared and of its own document; zeros for all other tokens.
  std::vector<std::int32_t> spans;
  std::int64_t used = 0;                     ///< tokens of requests
  std::vector<std::int32_t> predicted_from;  ///< of each token that is scored: the place of the one before it
  std::vector<std::int32_t> targets;
  std::vector<std::int64_t> requests;  ///< whose continuations the targets are, one after the other
};

struct PackOptions {
  std::int64_t window = 0;      ///< tokens that the model sees of a request at most
  std::int64_t row_tokens = 0;  ///< of a row, >= window
  std::int64_t vocab_size = 0;
  std::int64_t least_shared = 16;  ///< fewer tokens are not worth an attention of their own
};

/// What goes through the model for some requests. It is a function of requests and options alone.
struct ScorePlan {
  std::vector<ScoreRow> rows;
  std::int64_t tokens = 0;     ///< used, of all rows
  std::int64_t asked_for = 0;  ///< what they would be if each request went through the model by itself
};

/// Packs requests into rows. Where one input is the beginning of another, only the longer one is computed: choices of
/// one token behind the same context go through the model once. What other inputs have in common at their beginning
/// goes through it once a group; groups are as large as a row at most, and are chosen so that the fewest tokens are
/// left (share_prefixes.h). Groups are placed by length, the longest first, each in the row where it leaves the least
/// room. Requests without a continuation are in no row. Usage errors as Scorer::score.
ScorePlan pack_requests(std::span<const ScoreRequest> requests, const PackOptions& options);

}  // namespace octet
