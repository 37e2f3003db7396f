#include "src/report/difference.h"

#include <algorithm>
#include <cmath>

namespace octet {
namespace {

constexpr std::size_t least_window = 8;
constexpr std::size_t windows_of_a_run = 40;

/// Steps that both logged, and loss minus loss; both lists are in the order of steps.
struct Pairs {
  std::vector<std::int64_t> steps;
  std::vector<double> differences;
};

Pairs pairs_of(const std::vector<StepMetrics>& run, const std::vector<StepMetrics>& first) {
  Pairs out;
  auto other = first.begin();
  for (const StepMetrics& m : run) {
    while (other != first.end() && other->step < m.step) ++other;
    if (other == first.end()) break;
    const double difference = m.loss - other->loss;
    if (other->step != m.step || !std::isfinite(difference)) continue;
    out.steps.push_back(m.step);
    out.differences.push_back(difference);
  }
  return out;
}

}  // namespace

LossDifference loss_difference(const std::vector<StepMetrics>& run, const std::vector<StepMetrics>& first,
                               std::size_t points) {
  const Pairs pairs = pairs_of(run, first);
  const std::size_t n = pairs.steps.size();
  LossDifference out;
  if (n < least_window) return out;
  out.window = std::max(least_window, n / windows_of_a_run);
  const std::size_t stride = std::max<std::size_t>(1, (n + points - 1) / points);
  for (std::size_t middle = 0; middle < n; middle += stride) {
    const std::size_t begin = middle - std::min(middle, out.window / 2);
    const std::size_t end = std::min(n, middle + (out.window + 1) / 2);
    const auto count = static_cast<double>(end - begin);
    double sum = 0, squares = 0;
    for (std::size_t i = begin; i < end; ++i) sum += pairs.differences[i];
    const double mean = sum / count;
    for (std::size_t i = begin; i < end; ++i) squares += std::pow(pairs.differences[i] - mean, 2);
    out.steps.push_back(pairs.steps[middle]);
    out.means.push_back(mean);
    out.errors.push_back(std::sqrt(squares / (count - 1) / count));
  }
  return out;
}

}  // namespace octet
