#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "src/evaluate/scorer.h"
#include "src/evaluate/tasks/accuracy.h"
#include "src/evaluate/tasks/encode_item.h"
#include "src/evaluate/tasks/known_tasks.h"
#include "src/evaluate/tasks/load_task.h"

namespace octet {

/// By question and choice.
using LogLikelihoods = std::vector<std::vector<double>>;

/// What is done so far of a task.
using TaskProgress = std::function<void(std::int64_t questions, std::int64_t tokens)>;

/// The first rows of a task, where an earlier call has scored them, and who is told of those that come.
struct KeptRows {
  LogLikelihoods before{};
  std::function<void(const LogLikelihoods& rows, std::size_t first)> add{};
};

/// How many tokens of questions are asked at once, with rows of so many: 256Ki, or 64 rows where that is more, so that
/// no rank of several waits for the others.
std::int64_t tokens_at_once(std::int64_t row_tokens);

/// Asks a task's questions, about `at_once` tokens of them at a time. Which questions are asked together depends on the
/// task and that number alone. So a call which finds rows `before` gives the same bits as one that does not: where rows
/// are missing for some of the questions that are asked together, it asks all of these again. Collective, as
/// Scorer::score.
LogLikelihoods score_task(const EncodedTask& task, Scorer& scorer, std::int64_t at_once, const TaskProgress& progress,
                          const KeptRows& kept = {});

/// The numbers of a task, or of a group.
struct TaskResult {
  std::string name;
  std::int64_t shots = 0;
  bool normalised = true;     ///< acc_norm and acc_bytes are there
  std::int64_t left_out = 0;  ///< LoadedTask::left_out
  std::int64_t cut = 0;       ///< EncodedTask::cut
  Accuracy acc{}, acc_norm{}, acc_bytes{};
};
TaskResult result_of(const LoadedTask& task, const EncodedTask& encoded, const LogLikelihoods& scores);
/// Of the tasks among `results` that the group has.
TaskResult result_of(const TaskGroup& group, const std::vector<TaskResult>& results);

}  // namespace octet
