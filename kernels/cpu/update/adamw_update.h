#pragma once

#include <cmath>

#include "kernels/adamw.h"
#include "kernels/cpu/parts/blocks.h"

/// The arithmetic of AdamW, for what updates parameters and for what only wants to know what becomes of one element.
namespace octet::cpu {

inline bool is_skipped(const AdamWUpdate& args) {
  return args.skip != nullptr && *args.skip != 0;
}

template <typename G>
void update_block(float* parameter, float* first, float* second, const G* gradient, std::int64_t n,
                  float gradient_scale, AdamWFactors by) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    const float g = static_cast<float>(gradient[i]) * gradient_scale;
    const float m = first[i] + by.first * (g - first[i]);
    const float v = second[i] * by.beta2 + by.second * g * g;
    first[i] = m;
    second[i] = v;
    parameter[i] = parameter[i] * by.decay - by.step * m / (std::sqrt(v) / by.root_bias2 + by.eps);
  }
}

/// Updates `parameter` and its moments, which hold elements [at, at + n) of the update's.
inline void update_elements(const AdamWUpdate& args, std::int64_t at, std::int64_t n, float* parameter, float* first,
                            float* second) {
  const float gradient_scale = args.gradient_scale == nullptr ? 1.0f : *args.gradient_scale;
  dispatch_storage(args.gradient_dtype, [&]<typename G>(G) {
    update_block(parameter, first, second, static_cast<const G*>(args.gradient) + at, n, gradient_scale,
                 factors_of(args));
  });
}

}  // namespace octet::cpu
