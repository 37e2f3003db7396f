#include "src/report/series.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace octet {
namespace {

using Measured = std::optional<double>;

/// The points of steps [begin, end) that must stay: lowest, highest, first gap.
void keep_extremes(const std::vector<double>& values, std::size_t begin, std::size_t end, std::set<std::size_t>& kept) {
  std::size_t low = end, high = end, gap = end;
  for (std::size_t i = begin; i < end; ++i) {
    if (!std::isfinite(values[i])) {
      gap = std::min(gap, i);
      continue;
    }
    if (low == end || values[i] < values[low]) low = i;
    if (high == end || values[i] > values[high]) high = i;
  }
  for (const std::size_t i : {low, high, gap}) {
    if (i < end) kept.insert(i);
  }
}

}  // namespace

const std::vector<Plot>& plots() {
  static const std::vector<Plot> all = {
      {"loss", "Loss", "nats a token", true, false},
      {"grad_norm", "Gradient norm", "before clipping", true, false},
      {"throughput", "Throughput", "tokens/s", false, false},
      {"mfu", "Model FLOPs utilisation", "% of the dense peak", false, false},
      {"tflops", "Arithmetic", "model TFLOP/s a rank", false, false},
      {"lr", "Learning rate", "", true, false},
      {"step_time", "Step time", "s", true, false},
      {"data_time", "Time spent waiting for data", "s a step", true, false},
      {"memory", "Memory", "GiB, peak of rank 0's buffers", false, false},
      {"non_finite", "Values that are not finite", "a step", false, true},
  };
  return all;
}

const std::vector<Quantity>& quantities() {
  using M = StepMetrics;
  static const std::vector<Quantity> all = {
      {"loss", "", false, [](const M& m) -> Measured { return m.loss; }},
      {"loss", "validation", true, [](const M& m) { return m.validation_loss; }},
      {"grad_norm", "", false, [](const M& m) -> Measured { return m.grad_norm; }},
      {"throughput", "", false, [](const M& m) -> Measured { return m.tokens_per_second; }},
      {"mfu", "", false, [](const M& m) { return m.mfu; }},
      {"mfu", "of the mixed peak", true, [](const M& m) { return m.mfu_mixed; }},
      {"tflops", "", false, [](const M& m) -> Measured { return m.tflops; }},
      {"lr", "", false, [](const M& m) -> Measured { return m.lr; }},
      {"step_time", "", false, [](const M& m) -> Measured { return m.step_seconds; }},
      {"data_time", "", false,
       [](const M& m) -> Measured { return m.data_seconds / static_cast<double>(m.interval_steps); }},
      {"memory", "", false, [](const M& m) -> Measured { return static_cast<double>(m.memory_bytes) / 0x1p30; }},
      {"non_finite", "", false, [](const M& m) -> Measured { return static_cast<double>(m.non_finite); }},
  };
  return all;
}

Series series_of(const std::vector<StepMetrics>& metrics, const Quantity& quantity) {
  Series series;
  for (const StepMetrics& m : metrics) {
    const Measured value = quantity.value(m);
    if (!value) continue;
    series.steps.push_back(m.step);
    series.values.push_back(*value);
  }
  return series;
}

Series thinned(const Series& series, std::size_t points) {
  const std::size_t n = series.values.size();
  if (n <= points) return series;
  const std::size_t buckets = (points - 2) / 2;
  std::set<std::size_t> kept = {0, n - 1};
  for (std::size_t b = 0; b < buckets; ++b) keep_extremes(series.values, n * b / buckets, n * (b + 1) / buckets, kept);
  Series thin;
  for (const std::size_t i : kept) {
    thin.steps.push_back(series.steps[i]);
    thin.values.push_back(series.values[i]);
  }
  return thin;
}

}  // namespace octet
