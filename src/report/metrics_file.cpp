#include "src/report/metrics_file.h"

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <string_view>

#include "src/base/error.h"
#include "src/report/text_file.h"

namespace octet {
namespace {

/// Calls `use(line, number)` for every line that has its end.
template <typename Use>
void each_line(std::string_view text, const Use& use) {
  std::int64_t number = 0;
  for (std::size_t end; (end = text.find('\n')) != std::string_view::npos; text.remove_prefix(end + 1)) {
    use(text.substr(0, end), ++number);
  }
}

std::vector<std::int64_t> ascending(const std::map<std::int64_t, std::int64_t>& first_steps) {
  std::set<std::int64_t> steps;
  for (const auto& [start, step] : first_steps) {
    if (start > 0) steps.insert(step);
  }
  return {steps.begin(), steps.end()};
}

/// The first step of each block of lines that one restart discarded.
std::vector<std::int64_t> starts_of_blocks(const std::vector<StepMetrics>& discarded, std::int64_t log_every) {
  std::set<std::int64_t> steps;
  for (std::size_t i = 0; i < discarded.size(); ++i) {
    const std::int64_t step = discarded[i].step, before = i == 0 ? step : discarded[i - 1].step;
    if (step <= before || step > before + log_every) steps.insert(step);
  }
  return {steps.begin(), steps.end()};
}

}  // namespace

std::vector<StepMetrics> read_metrics(const std::string& path) {
  const std::string text = read_text_file(path);
  std::vector<StepMetrics> metrics;
  each_line(text, [&](std::string_view line, std::int64_t number) {
    try {
      metrics.push_back(step_metrics_of(line));
    } catch (const std::invalid_argument& error) {
      throw usage_error("report", "{}:{}: {}, expected the metrics of a step", path, number, error.what());
    }
    const std::size_t n = metrics.size();
    if (n > 1 && metrics[n - 1].step <= metrics[n - 2].step) {
      throw usage_error("report", "{}:{}: step {} after step {}, expected each step once and in order", path, number,
                        metrics[n - 1].step, metrics[n - 2].step);
    }
  });
  return metrics;
}

std::vector<StepMetrics> read_discarded_metrics(const std::string& path) {
  const std::string text = read_text_file(path);
  std::vector<StepMetrics> metrics;
  each_line(text, [&](std::string_view line, std::int64_t) {
    try {
      metrics.push_back(step_metrics_of(line));
    } catch (const std::invalid_argument&) {  // the rest of a line whose writer was killed
    }
  });
  return metrics;
}

std::vector<std::int64_t> restart_steps(const std::vector<StepMetrics>& metrics,
                                        const std::vector<StepMetrics>& discarded, std::int64_t log_every) {
  std::map<std::int64_t, std::int64_t> first_steps;
  bool recorded = false;
  for (const auto* lines : {&metrics, &discarded}) {
    for (const StepMetrics& m : *lines) {
      if (!m.restarts) continue;
      recorded = true;
      const auto [place, is_new] = first_steps.emplace(*m.restarts, m.step);
      if (!is_new) place->second = std::min(place->second, m.step);
    }
  }
  return recorded ? ascending(first_steps) : starts_of_blocks(discarded, log_every);
}

}  // namespace octet
