#pragma once

#include "kernels/cuda/device/packs.cuh"

/// Magnitudes as the integer bits of |x|, which order like the values, NaN above all. A word of 32 bits has one fp32 or
/// two bf16, which are compared without taking them apart: Hopper has an instruction for both.
namespace octet::cuda {

/// The magnitude of one value.
__device__ __forceinline__ unsigned magnitude(float x) {
  return __float_as_uint(x) & 0x7FFFFFFFu;
}

/// The words of neighbouring elements.
template <typename T, int size>
__device__ __forceinline__ auto words_of(const Chunk<T, size>& x) {
  Chunk<unsigned, size* static_cast<int>(sizeof(T)) / 4> words;
  static_assert(sizeof(words) == sizeof(x));
  std::memcpy(&words, static_cast<const void*>(&x), sizeof(x));
  return words;
}

/// The larger magnitude of each element of two words, `most` having magnitudes already.
template <typename T>
__device__ __forceinline__ unsigned larger(unsigned most, unsigned word) {
  if constexpr (sizeof(T) == 2) return __vmaxu2(most, word & 0x7FFF7FFFu);
  return max(most, word & 0x7FFFFFFFu);
}

/// Element j of a word of magnitudes, in fp32's bits.
template <typename T>
__device__ __forceinline__ unsigned magnitude(unsigned word, int j) {
  if constexpr (sizeof(T) == 2) return j == 0 ? word << 16 : word & 0xFFFF0000u;
  return word;
}

/// A word's largest, in fp32's bits.
template <typename T>
__device__ __forceinline__ unsigned largest(unsigned word) {
  if constexpr (sizeof(T) == 2) return max(magnitude<T>(word, 0), magnitude<T>(word, 1));
  return word;
}

}  // namespace octet::cuda
