#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace octet {

/// Which rule decides the order of a run's data. A run keeps the one that it began with: checkpoints hold its number,
/// and one that holds none is of version 1.
inline constexpr std::int64_t newest_data_order = 2;

/// Shares samples out to sources by weight, as a pure function of the sample's index: nothing is stored, and any sample
/// is found without those before it. Weights are shares of samples, which are all of the same length: shares of tokens.
class Mixture {
 public:
  virtual ~Mixture() = default;

  struct Turn {
    std::int32_t source;
    std::int64_t number;  ///< how many samples this source has had before
  };
  /// sample >= 0.
  virtual Turn turn(std::int64_t sample) const = 0;

  /// How many of samples 0 to `samples` - 1 each source has.
  virtual std::vector<std::int64_t> taken(std::int64_t samples) const = 0;

  /// Whole numbers that stand to each other as the sources' parts of the samples do: with the version all that decides
  /// the order.
  virtual std::span<const std::int64_t> shares() const = 0;
};

}  // namespace octet
