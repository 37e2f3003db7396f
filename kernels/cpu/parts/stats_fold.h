#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

#include "kernels/stats.h"

namespace octet::cpu {

/// Running statistics of values that a loop has just stored; publish() once at the end of the kernel.
/// The maximum is kept as the integer bits of |x|: they order like the values, infinity above the finite and NaN above
/// infinity, so an integer maximum propagates NaN and vectorises without -ffast-math. Both members are free of
/// rounding, so any split over threads gives the same bits.
///
///   StatsFold fold;
///   #pragma omp parallel for reduction(stats : fold)
///   for (rows) { ...write the row...; fold.add(row, columns); }   // while the row is in L1
///   fold.publish(args.stats);
struct StatsFold {
  static constexpr std::uint32_t infinity = 0x7F800000u;

  std::uint32_t max_bits = 0;
  std::uint32_t non_finite = 0;

  static constexpr std::uint32_t magnitude(float x) { return std::bit_cast<std::uint32_t>(x) & 0x7FFFFFFFu; }
  /// The sum of two counts, or the largest count there is.
  static constexpr std::uint32_t sum(std::uint32_t count, std::uint32_t more) {
    return count + std::min(more, std::numeric_limits<std::uint32_t>::max() - count);
  }

  /// One value, as stored (pass float(bf16(x)) where bf16 is stored).
  void add(float x) {
    const std::uint32_t m = magnitude(x);
    max_bits = std::max(max_bits, m);
    non_finite = sum(non_finite, m >= infinity ? 1u : 0u);
  }

  /// `n` stored values, fewer than 2^32, T float or bf16; a vectorised loop.
  template <typename T>
  void add(const T* x, std::int64_t n) {
    std::uint32_t max = max_bits, count = 0;
#pragma omp simd reduction(max : max) reduction(+ : count)
    for (std::int64_t i = 0; i < n; ++i) {
      const std::uint32_t m = magnitude(static_cast<float>(x[i]));
      max = m > max ? m : max;
      count += m >= infinity ? 1u : 0u;
    }
    max_bits = max;
    non_finite = sum(non_finite, count);
  }

  void merge(const StatsFold& other) {
    max_bits = std::max(max_bits, other.max_bits);
    non_finite = sum(non_finite, other.non_finite);
  }

  float amax() const {
    return std::bit_cast<float>(max_bits);
  }

  /// Raises *amax, adds to *non_finite; null pointers are skipped.
  void publish(const StatsOut& out) const {
    if (out.amax != nullptr)
      *out.amax = std::bit_cast<float>(std::max(std::bit_cast<std::uint32_t>(*out.amax), max_bits));
    if (out.non_finite != nullptr) *out.non_finite = sum(*out.non_finite, non_finite);
  }
};

#pragma omp declare reduction(stats:StatsFold : omp_out.merge(omp_in)) initializer(omp_priv = StatsFold{})

}  // namespace octet::cpu
