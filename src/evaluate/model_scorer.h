#pragma once

#include "src/evaluate/forward_model.h"

namespace octet {

/// Scores by a model on all ranks of its mesh: each of those between which data are divided computes some of the rows,
/// by turns, and all learn every score. The rows are the same in every layout.
class ModelScorer final : public Scorer {
 public:
  /// `window` <= model.row_tokens(). `control`: of the same ranks (src/comm/control_exchange.h).
  ModelScorer(ForwardModel& model, std::int64_t window, Mesh& mesh, Communicator& control);

  std::int64_t window() const override { return window_; }
  std::int64_t vocab_size() const override { return model_.settings().model.vocab_size; }
  std::vector<Score> score(std::span<const ScoreRequest> requests, const ScoreProgress& progress) override;

 private:
  ForwardModel& model_;
  std::int64_t window_;
  Mesh& mesh_;
  Communicator& control_;
};

}  // namespace octet
