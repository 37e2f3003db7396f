#pragma once

#include <memory>
#include <string>

#include "jobs/evaluate/evaluate_options.h"
#include "src/comm/mesh.h"
#include "src/evaluate/model_scorer.h"
#include "src/evaluate/model_source.h"

namespace octet::evaluate {

/// What a model sees at once. Usage error where neither the options nor the model say it.
std::int64_t window_of(const ModelSource& source, std::int64_t asked);

/// How the model computes: all settings but those of memory.
LlamaSettings settings_of(const ModelSource& source, const ModelOptions& options, Mesh& mesh);

/// The model with its weights. Usage error where it cannot compute so. Collective; `hosts`: all ranks.
std::unique_ptr<ForwardModel> load_model(const ModelSource& source, const LlamaSettings& settings,
                                         const ModelOptions& options, Mesh& mesh, Stream& stream, Communicator& hosts);

/// "runs/a/checkpoints/step-000120: 5.1 M parameters, bf16, window 256"
std::string text_of(const ModelSource& source, const LlamaSettings& settings, std::int64_t window);

/// A model that was found and loaded as the options say, ready to score.
class EvaluatedModel {
 public:
  /// Usage error where the model cannot compute so. Collective; `hosts`: all ranks.
  EvaluatedModel(const std::string& path, const ModelOptions& options, Mesh& mesh, Stream& stream, Communicator& hosts);

  const ModelSource& source() const { return source_; }
  const LlamaSettings& settings() const { return settings_; }
  ForwardModel& model() { return *model_; }
  Scorer& scorer() { return *scorer_; }
  std::string text() const { return text_of(source_, settings_, window_); }

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
