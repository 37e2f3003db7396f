#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/evaluate/bootstrap.h"
#include "src/evaluate/tasks/score_task.h"

namespace octet {

/// Two models' answers to a task's questions, or to those of a group, one after the other: 1 where the first model
/// alone is right, -1 where the second alone is, 0 where both are or neither.
struct PairedAnswers {
  std::string name;
  bool normalised = true;  ///< acc_norm and acc_bytes are there
  std::vector<double> acc{}, acc_norm{}, acc_bytes{};
};
PairedAnswers pair_answers(const LoadedTask& task, const LogLikelihoods& first, const LogLikelihoods& second);
/// Of the tasks among `pairs` that the group has.
PairedAnswers pair_answers(const TaskGroup& group, const std::vector<PairedAnswers>& pairs);

/// The first model's accuracies less the second's, with intervals by draws of questions.
struct TaskDifference {
  Estimate acc;
  std::optional<Estimate> acc_norm{}, acc_bytes{};  ///< where the task has them
};
TaskDifference difference_of(const PairedAnswers& pair, const BootstrapOptions& options);

}  // namespace octet
