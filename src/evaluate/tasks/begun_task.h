#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "src/evaluate/tasks/score_task.h"

namespace octet {

/// The rows of a task that is not done yet, in samples_NAME.jsonl.part of the folder of results: its first line says of
/// what they were computed, those behind it are of samples_NAME.jsonl. So an evaluation that was killed goes on within
/// a task. One process.
class BegunTask {
 public:
  /// `folder` empty: nothing is kept. The file is read once and changed by the first add.
  BegunTask(const std::string& folder, const LoadedTask& task, nlohmann::ordered_json identity);

  /// What was scored with the same identity: the rows up to the first that is torn.
  const LogLikelihoods& before() const { return before_; }
  /// Rows from the `first` of the task on; those before it have been added, or were there before. Usage error where
  /// they cannot be written.
  void add(const LogLikelihoods& rows, std::size_t first);
  /// Removes the file: the samples are elsewhere now.
  void done();

 private:
  void read();

  const LoadedTask& task_;
  nlohmann::ordered_json identity_;
  std::string path_;  ///< empty: nothing is kept
  LogLikelihoods before_;
  bool begun_ = false;  ///< the file is this process' own
};

}  // namespace octet
