#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>

/// The arithmetic of the softmax over a row of logits, for the device and for tests on the host: only how threads share
/// a row is the kernels' own.
namespace octet::cuda::logit_rows {

constexpr float infinity = __builtin_huge_valf();

/// Σ exp(x - max) of the values so far, rescaled when the maximum grows (Milakov & Gimelshein, arXiv:1805.02867). A NaN
/// makes the sum NaN and leaves the maximum alone. Of no value at all, or of -inf alone: {-inf, 0}.
struct OnlineSum {
  float max = -infinity;
  float sum = 0.0f;

  /// What is subtracted instead of a maximum of -inf, so that exp gives 0 and not NaN.
  static __host__ __device__ float base_of(float max) { return max == -infinity ? 0.0f : max; }

  /// The device unrolls the loops (else its build fails on local memory).
  template <int n>
  __host__ __device__ void add(const float (&x)[n]) {
    float now = max;
    for (int i = 0; i < n; ++i) now = fmaxf(now, x[i]);
    const float base = base_of(now);
    sum *= expf(max - base);
    for (int i = 0; i < n; ++i) sum += expf(x[i] - base);
    max = now;
  }
  __host__ __device__ void merge(float other_max, float other_sum) {
    const float now = fmaxf(max, other_max), base = base_of(now);
    sum = sum * expf(max - base) + other_sum * expf(other_max - base);
    max = now;
  }
};

/// The softmax over all parts of a row. `stats`: [parts, 3, rows] from the row on.
inline __host__ __device__ OnlineSum join(const float* stats, int parts, std::int64_t rows) {
  OnlineSum whole;
  for (int p = 0; p < parts; ++p) whole.max = fmaxf(whole.max, stats[p * 3 * rows]);
  const float base = OnlineSum::base_of(whole.max);
  for (int p = 0; p < parts; ++p) whole.sum += stats[(p * 3 + 1) * rows] * expf(stats[p * 3 * rows] - base);
  return whole;
}

/// The target's logit, from the same stats: it is that of the one part that holds the target.
inline __host__ __device__ double target_logit(const float* stats, int parts, std::int64_t rows) {
  double sum = 0;
  for (int p = 0; p < parts; ++p) sum += static_cast<double>(stats[(p * 3 + 2) * rows]);
  return sum;
}

inline __host__ __device__ float loss_of(OnlineSum softmax, double at_target) {
  const double log_sum_exp = static_cast<double>(softmax.max) + ::log(static_cast<double>(softmax.sum));
  return static_cast<float>(log_sum_exp - at_target);
}

/// The gradient of one logit. `factor` is scale / softmax.sum.
inline __host__ __device__ float gradient_of(float x, OnlineSum softmax, bool target, float scale, float factor) {
  const float e = expf(x - softmax.max);
  return target ? (e / softmax.sum - 1.0f) * scale : e * factor;
}

}  // namespace octet::cuda::logit_rows
