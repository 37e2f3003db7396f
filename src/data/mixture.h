#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace octet {

/// Shares samples out to sources by weight, as a pure function of the sample index, in O(sources) time and memory.
///
/// Over each period of 65,536 samples, counted from sample 0, a source gets exactly its count, which is its share of
/// the weights times 65,536, rounded so that the counts add up (largest remainder). Inside a period the sources are
/// interleaved evenly (Bresenham's line, source by source among what the earlier ones left) rather than at random:
/// a batch then holds each source's share to within a few samples, which a random order does not, and the rank of a
/// sample within its source has a closed form, so that nothing is stored. Order inside a source is random anyway.
class Mixture {
 public:
  static constexpr std::int64_t period = 65536;

  /// Usage error for weights that are not positive and finite, or whose share rounds to no sample in a period.
  explicit Mixture(std::span<const double> weights);

  struct Turn {
    std::int32_t source;
    std::int64_t number;  ///< how many samples this source has had before
  };
  /// sample >= 0.
  Turn turn(std::int64_t sample) const;

  /// How many of samples 0 to `samples` - 1 each source has.
  std::vector<std::int64_t> taken(std::int64_t samples) const;

  std::span<const std::int64_t> counts() const { return counts_; }

 private:
  std::vector<std::int64_t> counts_;
};

}  // namespace octet
