#include "src/evaluate/tasks/accuracy.h"

#include <algorithm>
#include <cmath>

#include "src/evaluate/tasks/python_text.h"

namespace octet {
namespace {

/// numpy.argmax: the first of the largest; NaN (an empty choice that is certain) is larger than all.
std::size_t largest_of(std::span<const double> values) {
  std::size_t best = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i])) return i;
    if (values[i] > values[best]) best = i;
  }
  return best;
}

template <typename Length>
bool right(const TaskItem& item, std::span<const double> log_likelihoods, const Length& length) {
  std::vector<double> values;
  for (std::size_t i = 0; i < log_likelihoods.size(); ++i) {
    values.push_back(log_likelihoods[i] / static_cast<double>(length(item.choices[i])));
  }
  return largest_of(values) == item.gold;
}

}  // namespace

ItemScore judge(const TaskItem& item, std::span<const double> log_likelihoods) {
  return {.acc = largest_of(log_likelihoods) == item.gold,
          .acc_norm = right(item, log_likelihoods, [](const std::string& choice) { return count_characters(choice); }),
          .acc_bytes = right(item, log_likelihoods, [](const std::string& choice) { return choice.size(); })};
}

Accuracy accuracy_of(const std::vector<bool>& right) {
  const auto n = static_cast<double>(right.size());
  Accuracy out{.questions = static_cast<std::int64_t>(right.size())};
  out.value = static_cast<double>(std::ranges::count(right, true)) / n;
  if (right.size() < 2) return out;
  double squares = 0;
  for (const bool one : right) squares += std::pow((one ? 1.0 : 0.0) - out.value, 2);
  out.error = std::sqrt(squares / (n - 1)) / std::sqrt(n);
  return out;
}

Accuracy pooled(std::span<const Accuracy> parts) {
  Accuracy out;
  double sum = 0, squares = 0;
  bool known = true;
  for (const Accuracy& part : parts) {
    const auto n = static_cast<double>(part.questions);
    out.questions += part.questions;
    sum += part.value * n;
    known = known && part.error;
    if (part.error) squares += (n - 1) * *part.error * *part.error * n;
  }
  const auto all = static_cast<double>(out.questions);
  out.value = sum / all;
  if (known) out.error = std::sqrt(squares / (all - static_cast<double>(parts.size())) / all);
  return out;
}

}  // namespace octet
