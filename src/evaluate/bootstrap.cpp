#include "src/evaluate/bootstrap.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "src/base/error.h"
#include "src/base/random.h"

namespace octet {
namespace {

/// Between the two values that are next to it, as numpy.percentile has it.
double percentile(const std::vector<double>& sorted, double part) {
  const double place = part * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace

std::optional<Interval> bootstrap_ratio(std::span<const double> numerators, std::span<const double> denominators,
                                        const BootstrapOptions& options) {
  if (numerators.size() != denominators.size() || options.samples < 1) {
    throw internal_error("evaluate", "bootstrap of {} and {} numbers", numerators.size(), denominators.size());
  }
  const std::size_t n = numerators.size();
  if (n < 2) return std::nullopt;
  std::vector<double> ratios(static_cast<std::size_t>(options.samples));
#pragma omp parallel for schedule(static)
  for (std::size_t sample = 0; sample < ratios.size(); ++sample) {
    double numerator = 0, denominator = 0;
    const RandomKey key{options.seed, RandomPurpose::bootstrap, static_cast<std::uint32_t>(sample)};
    for (std::size_t draw = 0; draw < n; ++draw) {
      const auto document = static_cast<std::size_t>(random_uniform(key, draw) * static_cast<double>(n));
      numerator += numerators[document];
      denominator += denominators[document];
    }
    ratios[sample] = numerator / denominator;
  }
  std::ranges::sort(ratios);
  return Interval{percentile(ratios, 0.025), percentile(ratios, 0.975)};
}

Estimate estimate_ratio(std::span<const double> numerators, std::span<const double> denominators,
                        const BootstrapOptions& options) {
  const auto sum = [](std::span<const double> x) { return std::accumulate(x.begin(), x.end(), 0.0); };
  return {sum(numerators) / sum(denominators), bootstrap_ratio(numerators, denominators, options)};
}

}  // namespace octet
