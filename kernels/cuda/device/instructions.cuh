#pragma once

/// Instructions that CUDA C++ has no function for.
namespace octet::cuda {

/// 1 / b, to one unit in the last place; denormal numbers count as zero.
__device__ __forceinline__ float approximate_reciprocal(float b) {
  float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(b));
  return r;
}

/// 1 / √v, to 2^-22.9 of it; denormal numbers count as zero.
__device__ __forceinline__ float approximate_inverse_root(float v) {
  float r;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(v));
  return r;
}

/// Counts the caller: *counter, in global memory, goes up by one, and from `last` to zero. Returns what it was. The
/// caller's writes before it are seen by whoever counts later, behind its own count.
__device__ __forceinline__ unsigned count_up_to(unsigned* counter, unsigned last) {
  unsigned before = 0;
  asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;"
               : "=r"(before)
               : "l"(__cvta_generic_to_global(counter)), "r"(last)
               : "memory");
  return before;
}

}  // namespace octet::cuda
