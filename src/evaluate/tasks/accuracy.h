#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "src/evaluate/tasks/task_item.h"

namespace octet {

/// Whether the likeliest choice of a question is the right one: by its log-likelihood, by that over its length in
/// characters, and over its bytes of UTF-8. The first of equals counts, as in numpy.argmax. (process_results of
/// lm_eval/api/task.py)
struct ItemScore {
  bool acc = false, acc_norm = false, acc_bytes = false;
};
ItemScore judge(const TaskItem& item, std::span<const double> log_likelihoods);

/// A share of right answers and its standard error.
struct Accuracy {
  double value = 0;
  std::optional<double> error{};  ///< sample deviation / sqrt(n); none of one question
  std::int64_t questions = 0;
};
Accuracy accuracy_of(const std::vector<bool>& right);

/// Of several tasks together, each as heavy as it has questions; the error from the pooled variance
/// (pooled_sample_stderr of lm_eval/api/metrics.py), none where one of them has none.
Accuracy pooled(std::span<const Accuracy> parts);

}  // namespace octet
