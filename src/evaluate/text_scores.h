#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "src/evaluate/bootstrap.h"
#include "src/evaluate/documents.h"
#include "src/evaluate/scorer.h"

namespace octet {

/// What a model says of a document.
struct DocumentScore {
  std::int64_t tokens = 0;
  std::optional<std::int64_t> bytes{};
  double loss_sum = 0;  ///< nats, over the tokens

  bool operator==(const DocumentScore&) const = default;
};

struct RollingOptions {
  std::int32_t start = 0;                 ///< the token that stands before a document
  std::int64_t stride = 0;                ///< tokens that a window predicts (windows.h); 0: the window's length
  std::int64_t documents = 0;             ///< at most so many; 0: all
  std::int64_t tokens_at_once = 1 << 20;  ///< about so many are scored together; the numbers depend on it by rounding
};

/// What is done so far: windows, tokens that went through the model, and the share of all that there is to do, as far
/// as that is known.
struct TextProgress {
  std::int64_t windows = 0, tokens = 0;
  double share = 0;
};

/// Every token of every document given those before it, in windows. Documents without tokens are left out.
/// Collective, as Scorer::score. `progress` (may be empty) is called on every rank.
std::vector<DocumentScore> score_documents(DocumentReader& documents, Scorer& scorer, const RollingOptions& options,
                                           const std::function<void(const TextProgress&)>& progress);

/// Numbers over all documents.
struct TextSummary {
  std::int64_t documents = 0, tokens = 0;
  std::optional<std::int64_t> bytes{};
  Estimate loss;                            ///< nats a token
  Estimate perplexity;                      ///< e to the loss
  std::optional<Estimate> bits_per_byte{};  ///< where bytes are known
};
TextSummary summarise(const std::vector<DocumentScore>& scores, const BootstrapOptions& options);

/// The first model's numbers less the second's, on the same documents.
struct TextDifference {
  std::optional<Estimate> loss{};           ///< nats a token, where both have the same tokens
  std::optional<Estimate> bits_per_byte{};  ///< where bytes are known
};
TextDifference compare(const std::vector<DocumentScore>& first, const std::vector<DocumentScore>& second,
                       const BootstrapOptions& options);

}  // namespace octet
