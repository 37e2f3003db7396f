#pragma once

#include <memory>
#include <string>

#include "jobs/evaluate/evaluate_options.h"
#include "src/comm/mesh.h"
#include "src/evaluate/model_scorer.h"
#include "src/evaluate/model_source.h"

namespace octet::evaluate {

/// All ranks, as they compute and speak.
struct Ranks {
  Mesh& mesh;
  Stream& stream;
  Communicator& control;
};

/// What a model sees at once. Usage error where neither the options nor the model say it.
std::int64_t window_of(const ModelSource& source, std::int64_t asked);

/// How the model computes: all settings but those of memory.
LlamaSettings settings_of(const ModelSource& source, const ModelOptions& options, Mesh& mesh);

/// The model with its weights. Usage error where it cannot compute so, or does not fit. Collective over `control`.
std::unique_ptr<ForwardModel> load_model(const ModelSource& source, const LlamaSettings& settings,
                                         const ModelOptions& options, Mesh& mesh, Stream& stream,
                                         Communicator& control);

/// "runs/a/checkpoints/step-000120: 5.1 M parameters, bf16, window 256"
std::string text_of(const ModelSource& source, const LlamaSettings& settings, std::int64_t window);

/// A model that is to score as the options say, as far as it is known without its weights: what is wrong is found
/// before any work is done.
struct FoundModel {
  /// Usage error where there is none, or it cannot compute so. Collective over `control`.
  FoundModel(const std::string& path, const ModelOptions& asked, Mesh& mesh, Device& device, Communicator& control);

  /// Where nothing longer is asked for, rows need not hold a window: those of a model that sees 131,072 tokens would be
  /// empty but for a question or a short text.
  void limit_texts_to(std::int64_t tokens);
  /// Up to which number of tokens limit_texts_to() changes anything: 1 where a row is not longer for the window's sake.
  std::int64_t limit_matters_up_to() const;
  std::string text() const { return text_of(source, settings, window); }

  ModelOptions options;
  ModelSource source;
  LlamaSettings settings;
  std::int64_t window;        ///< what the model may see of a text
  std::int64_t longest_text;  ///< of those that are asked for, as far as it sees them
};

/// That model with its weights, ready to score.
class EvaluatedModel {
 public:
  /// Collective over `control`.
  EvaluatedModel(const FoundModel& found, Mesh& mesh, Stream& stream, Communicator& control);

  ForwardModel& model() { return *model_; }
  Scorer& scorer() { return *scorer_; }

 private:
  std::unique_ptr<ForwardModel> model_;
  std::unique_ptr<ModelScorer> scorer_;
};

/// What this device holds for evaluation, by purpose, for the log.
std::string memory_text(Device& device);

}  // namespace octet::evaluate
