#pragma once

#include <memory>
#include <string>
#include <vector>

#include "jobs/evaluate/evaluated_model.h"
#include "src/evaluate/tasks/score_task.h"

namespace octet::evaluate {

/// A model that is to be asked, and the questions as its tokenizer and window have them.
struct AskedModel {
  /// All that can be wrong with it is found here, before any model has computed. Collective.
  AskedModel(const std::string& path, const ModelOptions& options, const std::vector<LoadedTask>& tasks,
             const Ranks& ranks);

  FoundModel found;
  std::unique_ptr<Tokenizer> tokenizer;
  std::vector<EncodedTask> encoded;  ///< by task
};

/// What the model answers, by task. Its samples go to the folder of results (empty: nowhere), and tasks that this has
/// from the same model and data are not asked again. Questions that are answered are let go. Collective.
std::vector<LogLikelihoods> ask_tasks(AskedModel& asked, const std::vector<LoadedTask>& tasks,
                                      const std::string& output, const Ranks& ranks);

}  // namespace octet::evaluate
