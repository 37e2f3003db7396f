#pragma once

#include <cuda_runtime.h>

namespace octet::cuda {

/// exp2(floor(log2(x))) of a positive normal number: its exponent. Zero and NaN stay.
__device__ __forceinline__ float power_below(float x) {
  return x != x ? x : __uint_as_float(__float_as_uint(x) & 0x7F800000u);
}

/// The scale of an abs-max by the rule of ComputeScales (kernels/cast.h).
__device__ __forceinline__ float scale_of(float amax, double max_of_format, bool power_of_two) {
  const double value = amax;
  const double clamped = value < 1e-12 ? 1e-12 : value;  // a NaN fails the comparison and stays
  const float exact = static_cast<float>(max_of_format / clamped);
  return power_of_two ? power_below(exact) : exact;
}

}  // namespace octet::cuda
