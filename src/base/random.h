#pragma once

#include <array>
#include <cstdint>

namespace octet {

/// What a random number is for. Numbers of different purposes never meet; the values are part of the file formats
/// (initial weights, data order), so they are never renumbered.
enum class RandomPurpose : std::uint32_t {
  initial_weights = 1,
  data_order = 2,
  data_mixture = 3,  ///< not drawn: which source is next follows from shares (mixture.h); the number stays taken
  data_split = 4,
  bootstrap = 5,
  generated_tokens = 6,
  test = 100
};

/// Counter-based random numbers (Philox4x32-10 of Random123; Salmon et al., "Parallel random numbers: as easy as
/// 1, 2, 3", SC'11). Every number is a pure function of (seed, purpose, stream, index): no state, so it is the same
/// for every layout, thread count and order of evaluation.
struct RandomKey {
  std::uint64_t seed = 0;
  RandomPurpose purpose = RandomPurpose::test;
  std::uint32_t stream = 0;  ///< e.g. the tensor's id, or the epoch

  bool operator==(const RandomKey&) const = default;
};

std::array<std::uint32_t, 4> random_block(const RandomKey& key, std::uint64_t index);

/// 64 random bits.
std::uint64_t random_bits(const RandomKey& key, std::uint64_t index);

/// Uniform in the open interval (0, 1), 52 bits: the midpoints of 2^52 equal cells.
double random_uniform(const RandomKey& key, std::uint64_t index);

/// Standard normal by inversion (Wichura's AS 241, double precision), truncated to [-cutoff, cutoff] standard
/// deviations as torch.nn.init.trunc_normal_ does (one uniform number an element, so no rejection).
double random_normal(const RandomKey& key, std::uint64_t index, double cutoff);
/// The probability that a standard normal number is below -cutoff.
double below_cutoff(double cutoff);

/// Inverse of the standard normal distribution function, 0 < p < 1 (normal_quantile.h).
double normal_quantile(double p);

}  // namespace octet
