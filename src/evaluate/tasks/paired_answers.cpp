#include "src/evaluate/tasks/paired_answers.h"

#include <algorithm>

#include "src/base/error.h"

namespace octet {

PairedAnswers pair_answers(const LoadedTask& task, const LogLikelihoods& first, const LogLikelihoods& second) {
  if (first.size() != second.size()) {
    throw internal_error("evaluate", "{}: {} and {} answers", task.name, first.size(), second.size());
  }
  PairedAnswers out{.name = task.name, .normalised = task.normalised};
  const auto less = [](bool a, bool b) { return (a ? 1.0 : 0.0) - (b ? 1.0 : 0.0); };
  for (std::size_t i = 0; i < first.size(); ++i) {
    const ItemScore a = judge(task.items[i], first[i]), b = judge(task.items[i], second[i]);
    out.acc.push_back(less(a.acc, b.acc));
    out.acc_norm.push_back(less(a.acc_norm, b.acc_norm));
    out.acc_bytes.push_back(less(a.acc_bytes, b.acc_bytes));
  }
  return out;
}

PairedAnswers pair_answers(const TaskGroup& group, const std::vector<PairedAnswers>& pairs) {
  PairedAnswers out{.name = group.name, .normalised = false};
  for (const PairedAnswers& pair : pairs) {
    if (std::ranges::find(group.tasks, pair.name) == group.tasks.end()) continue;
    out.acc.insert(out.acc.end(), pair.acc.begin(), pair.acc.end());
  }
  return out;
}

TaskDifference difference_of(const PairedAnswers& pair, const BootstrapOptions& options) {
  const auto mean = [&](const std::vector<double>& answers) {
    return estimate_ratio(answers, std::vector<double>(answers.size(), 1.0), options);
  };
  if (!pair.normalised) return {.acc = mean(pair.acc)};
  return {.acc = mean(pair.acc), .acc_norm = mean(pair.acc_norm), .acc_bytes = mean(pair.acc_bytes)};
}

}  // namespace octet
