#pragma once

#include "src/data/mixture.h"

namespace octet {

/// Version 1 of the order, for runs that began with it: O(sources) time and memory.
///
/// Over each period of 65,536 samples, counted from sample 0, a source gets exactly its count, which is its share of
/// the weights times 65,536, rounded so that the counts add up (largest remainder). Inside a period the sources are
/// interleaved by Bresenham's line, source by source among what the earlier ones left. What the earlier ones stray adds
/// up: up to 19 samples in a window for 100 sources with weights 1/k in rising order.
class PeriodMixture final : public Mixture {
 public:
  static constexpr std::int64_t period = 65536;

  /// Positive weights. Usage error for one whose share rounds to no sample in a period.
  explicit PeriodMixture(std::span<const double> weights);

  Turn turn(std::int64_t sample) const override;
  std::vector<std::int64_t> taken(std::int64_t samples) const override;
  std::span<const std::int64_t> shares() const override { return counts_; }

 private:
  std::vector<std::int64_t> counts_;
};

}  // namespace octet
