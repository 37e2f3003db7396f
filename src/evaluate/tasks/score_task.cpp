#include "src/evaluate/tasks/score_task.h"

#include <algorithm>

#include "src/base/error.h"

namespace octet {
namespace {

/// The likelihoods by question, of which each has so many choices.
LogLikelihoods by_question(const std::vector<Score>& scores, const std::vector<std::size_t>& counts) {
  LogLikelihoods rows;
  for (std::size_t at = 0; const std::size_t count : counts) {
    auto& one = rows.emplace_back();
    for (std::size_t i = 0; i < count; ++i) one.push_back(scores[at++].log_likelihood);
  }
  return rows;
}

}  // namespace

std::int64_t tokens_at_once(std::int64_t row_tokens) {
  return std::max(std::int64_t{1} << 18, 64 * row_tokens);
}

LogLikelihoods score_task(const EncodedTask& task, Scorer& scorer, std::int64_t at_once, const TaskProgress& progress,
                          const KeptRows& kept) {
  LogLikelihoods out;
  std::int64_t done = 0;
  for (std::size_t next = 0; next < task.questions.size();) {
    std::vector<ScoreRequest> requests;
    std::vector<std::size_t> counts;
    for (std::int64_t tokens = 0; next < task.questions.size() && tokens < at_once; ++next) {
      const std::vector<ScoreRequest>& choices = task.questions[next];
      counts.push_back(choices.size());
      requests.insert(requests.end(), choices.begin(), choices.end());
      for (const ScoreRequest& choice : choices) tokens += std::ssize(choice.context) + std::ssize(choice.continuation);
    }
    const std::size_t first = out.size();
    if (next <= kept.before.size()) {
      for (std::size_t i = first; i < next; ++i) out.push_back(kept.before[i]);
      continue;
    }
    std::int64_t now = 0;
    const auto scores = scorer.score(requests, [&](std::int64_t scored, std::int64_t tokens) {
      now = tokens;
      // Requests go by length: of the questions there are about as many done as of the requests.
      if (progress) progress(std::ssize(out) + std::ssize(counts) * scored / std::ssize(requests), done + now);
    });
    done += now;
    const LogLikelihoods rows = by_question(scores, counts);
    out.insert(out.end(), rows.begin(), rows.end());
    if (kept.add) kept.add(rows, first);
    if (progress) progress(std::ssize(out), done);
  }
  return out;
}

TaskResult result_of(const LoadedTask& task, const EncodedTask& encoded, const LogLikelihoods& scores) {
  std::vector<bool> acc, acc_norm, acc_bytes;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const ItemScore score = judge(task.items[i], scores[i]);
    acc.push_back(score.acc);
    acc_norm.push_back(score.acc_norm);
    acc_bytes.push_back(score.acc_bytes);
  }
  return {.name = task.name,
          .shots = task.shots,
          .normalised = task.normalised,
          .left_out = task.left_out,
          .cut = encoded.cut,
          .acc = accuracy_of(acc),
          .acc_norm = accuracy_of(acc_norm),
          .acc_bytes = accuracy_of(acc_bytes)};
}

TaskResult result_of(const TaskGroup& group, const std::vector<TaskResult>& results) {
  TaskResult out{.name = group.name, .normalised = false};
  std::vector<Accuracy> parts;
  for (const TaskResult& result : results) {
    if (std::ranges::find(group.tasks, result.name) == group.tasks.end()) continue;
    parts.push_back(result.acc);
    out.shots = result.shots;
    out.left_out += result.left_out;
    out.cut += result.cut;
  }
  if (parts.empty()) throw internal_error("evaluate", "the group {} has no task", group.name);
  out.acc = pooled(parts);
  return out;
}

}  // namespace octet
