#pragma once

#include <cuda_runtime.h>

#include "src/base/float8.h"

namespace octet::cuda {

/// exp2(floor(log2(x))) of a positive normal number: its exponent. Zero and NaN stay.
__device__ __forceinline__ float power_below(float x) {
  return x != x ? x : __uint_as_float(__float_as_uint(x) & 0x7F800000u);
}

/// The scale of an abs-max by the rule of ComputeScales (kernels/cast.h), in fp32: a quotient of floats that is rounded
/// to fp64 and then to fp32 is the one that is rounded once, since 53 >= 2 · 24 + 2 (Figueroa, When is double rounding
/// innocuous?, 1995; tried with every float and both formats). A NaN stays.
__device__ __forceinline__ float scale_of(float amax, float max_of_format, bool power_of_two) {
  constexpr float smallest = 0x1.19799ap-40f;  // the first float from 1e-12 on: below it 1e-12 divides
  constexpr auto of_e4m3 = static_cast<float>(double{e4m3::max} / 1e-12),
                 of_e5m2 = static_cast<float>(double{e5m2::max} / 1e-12);
  const float most = max_of_format == e4m3::max ? of_e4m3 : of_e5m2;
  const float exact = amax < smallest ? most : max_of_format / amax;
  return power_of_two ? power_below(exact) : exact;
}

}  // namespace octet::cuda
