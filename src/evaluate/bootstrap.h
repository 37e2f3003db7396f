#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace octet {

struct Interval {
  double low = 0, high = 0;

  bool operator==(const Interval&) const = default;
};

struct BootstrapOptions {
  std::int64_t samples = 1000;
  std::uint64_t seed = 1234;
};

/// The 95 % interval of Σ numerators / Σ denominators over documents: percentiles 2.5 and 97.5 of that ratio over
/// samples of equally many documents, drawn with replacement (Efron, "Bootstrap methods", 1979). With the difference of
/// two models as numerators it is the interval of their paired difference. The draws depend on seed and number of
/// documents alone. Nothing for fewer than two documents. Denominators are positive.
std::optional<Interval> bootstrap_ratio(std::span<const double> numerators, std::span<const double> denominators,
                                        const BootstrapOptions& options);

/// A number over all documents, with its interval where there are at least two.
struct Estimate {
  double value = 0;
  std::optional<Interval> interval{};
};
/// The ratio of the sums itself, with its interval.
Estimate estimate_ratio(std::span<const double> numerators, std::span<const double> denominators,
                        const BootstrapOptions& options);

}  // namespace octet
