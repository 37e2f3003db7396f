#pragma once

#include <cuda_bf16.h>

namespace octet::cuda {

/// 16 bytes of T in registers, read and written by one instruction. For rows and arrays that are known to be aligned,
/// with no end that is left over; where the size differs or the end is ragged, take Chunk (packs.cuh).
template <typename T>
struct alignas(16) Pack {
  static constexpr int size = 16 / sizeof(T);
  T v[size];
};

template <typename T>
__device__ __forceinline__ Pack<T> load(const T* p) {
  const int4 raw = __ldg(reinterpret_cast<const int4*>(p));
  return reinterpret_cast<const Pack<T>&>(raw);
}
/// Loads data that this kernel also writes (in place), and so not through the read-only cache.
template <typename T>
__device__ __forceinline__ Pack<T> load_mutable(const T* p) {
  const int4 raw = *reinterpret_cast<const int4*>(p);
  return reinterpret_cast<const Pack<T>&>(raw);
}
template <typename T>
__device__ __forceinline__ void store(T* p, const Pack<T>& pack) {
  *reinterpret_cast<int4*>(p) = reinterpret_cast<const int4&>(pack);
}

__device__ __forceinline__ float to_float(float x) {
  return x;
}
__device__ __forceinline__ float to_float(__nv_bfloat16 x) {
  return __bfloat162float(x);
}
/// Rounds to nearest even.
template <typename T>
__device__ __forceinline__ T from_float(float x);
template <>
__device__ __forceinline__ float from_float<float>(float x) {
  return x;
}
template <>
__device__ __forceinline__ __nv_bfloat16 from_float<__nv_bfloat16>(float x) {
  return __float2bfloat16_rn(x);
}

}  // namespace octet::cuda
