#pragma once

#include <cstdint>

/// Reductions over interleaved partial results, combined pairwise. The order is written out instead of left to
/// `omp simd reduction`, so it depends on neither the compiler, the vector width nor the alignment of the data.
namespace octet::cpu {

inline constexpr int lanes = 32;

/// Combines partial results [0, lanes) by halves into the first one.
template <typename T, typename Combine>
T combine_lanes(T (&lane)[lanes], Combine combine) {
  for (int width = lanes / 2; width > 0; width /= 2) {
    for (int j = 0; j < width; ++j) lane[j] = combine(lane[j], lane[j + width]);
  }
  return lane[0];
}

/// Reduction of value(0) ... value(n - 1) with `combine`; `start` is its neutral element.
template <typename T, typename Value, typename Combine>
T reduce_lanes(std::int64_t n, T start, Value value, Combine combine) {
  T lane[lanes];
  for (T& l : lane) l = start;
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
#pragma omp simd
    for (int j = 0; j < lanes; ++j) lane[j] = combine(lane[j], value(i + j));
  }
  for (int j = 0; i + j < n; ++j) lane[j] = combine(lane[j], value(i + j));
  return combine_lanes(lane, combine);
}

/// Sum of value(i) in type T.
template <typename T, typename Value>
T sum_lanes(std::int64_t n, Value value) {
  return reduce_lanes(n, T{0}, value, [](T a, T b) { return a + b; });
}

}  // namespace octet::cpu
