#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "src/evaluate/tasks/score_task.h"

namespace octet {

/// The members "results", "groups", "n-shot" and "n-samples" of lm-eval-harness' results, with its keys ("acc,none",
/// "acc_stderr,none"; "N/A" for a standard error that is not known), and the same as plain acc, acc_stderr, acc_norm,
/// ... (null) and cut_at_left, the questions that lost tokens at their left, beside them.
nlohmann::ordered_json task_results_json(const std::vector<TaskResult>& tasks, const std::vector<TaskResult>& groups);

/// samples_NAME.jsonl: a line a question, from the `first` on, with doc_id, loglikelihoods, gold, acc and, where the
/// task has them, acc_norm and acc_bytes.
std::string sample_lines(const LoadedTask& task, const LogLikelihoods& scores, std::size_t first = 0);
/// Back from there: the first rows of the task, up to a line that is torn or none of it.
LogLikelihoods read_sample_lines(std::string_view text, const LoadedTask& task);

/// A file of a folder of results; nothing where it is not there. Usage error for one that is there and cannot be read:
/// what is in it would be asked again, and replaced.
std::optional<std::string> read_kept(const std::string& path);

/// The tasks of a folder of results that are done, so that an evaluation goes on where it was interrupted: tasks.json
/// says of each what it was computed of (`identity`), and its samples have the rest. One process.
class DoneTasks {
 public:
  /// `folder` empty: nothing is kept.
  explicit DoneTasks(std::string folder);
  /// The likelihoods of a task that was done with the same identity; says where it was done with another.
  std::optional<LogLikelihoods> find(const LoadedTask& task, const nlohmann::ordered_json& identity) const;
  /// Writes a task's samples, and that it is done. Usage error where that cannot be.
  void add(const LoadedTask& task, const nlohmann::ordered_json& identity, const LogLikelihoods& scores);

 private:
  std::string path_of(const std::string& name) const { return folder_ + "/" + name; }

  std::string folder_;
  nlohmann::json done_ = nlohmann::json::object();
};

}  // namespace octet
