#pragma once

#include "kernels/cuda/device/instructions.cuh"

/// Roots and quotients that are rounded correctly, without a branch. The compiler's own are the same instructions
/// behind a test of their operands and a branch, so that several of them never run side by side. These are right for
/// usual operands, those in the ranges that are named at each: the caller tests that, for many at once. Remainders of
/// them may be denormal numbers, so that a build with -ftz=true would round otherwise.
namespace octet::cuda {

/// 1 / b, rounded correctly but for a few b, for usual_quotient. `b`: 2^-100 to 2^100.
__device__ __forceinline__ float usual_reciprocal(float b) {
  const float r = approximate_reciprocal(b);
  return __fmaf_rn(r, __fmaf_rn(-b, r, 1.0f), r);
}

/// a / b by the usual_reciprocal of b. a 2^-24 and a / b must be normal numbers.
__device__ __forceinline__ float usual_quotient(float a, float b, float over_b) {
  const float q = __fmul_rn(a, over_b);
  return __fmaf_rn(over_b, __fmaf_rn(-b, q, a), q);
}

__device__ __forceinline__ float usual_quotient(float a, float b) {
  return usual_quotient(a, b, usual_reciprocal(b));
}

/// The root of v, which must be 2^-100 to 2^100.
__device__ __forceinline__ float usual_root(float v) {
  const float over = approximate_inverse_root(v);
  const float root = __fmul_rn(v, over);
  return __fmaf_rn(__fmaf_rn(-root, root, v), __fmul_rn(over, 0.5f), root);
}

}  // namespace octet::cuda
