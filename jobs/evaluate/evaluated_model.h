#pragma once

#include <memory>
#include <string>

#include "jobs/evaluate/evaluate_options.h"
#include "src/comm/mesh.h"
#include "src/evaluate/model_scorer.h"
#include "src/evaluate/model_source.h"

namespace octet::evaluate {

/// A model that was found and loaded as the options say, ready to score.
class EvaluatedModel {
 public:
  /// Usage error where the model cannot compute so. Collective; `hosts`: all ranks.
  EvaluatedModel(const std::string& path, const ModelOptions& options, Mesh& mesh, Stream& stream, Communicator& hosts);

  const ModelSource& source() const { return source_; }
  ForwardModel& model() { return *model_; }
  Scorer& scorer() { return *scorer_; }
  /// "runs/a/checkpoints/step-000120: 5.1 M parameters, bf16, window 256"
  std::string text() const;

 private:
  ModelSource source_;
  LlamaSettings settings_;
  std::int64_t window_ = 0;
  std::unique_ptr<ForwardModel> model_;
  std::unique_ptr<ModelScorer> scorer_;
};

/// What this device holds for evaluation, by purpose, for the log.
std::string memory_text(Device& device);

}  // namespace octet::evaluate
