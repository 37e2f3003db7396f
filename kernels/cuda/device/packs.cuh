#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/cuda/device/vector.cuh"

/// Element-wise loops over packs of `size` elements: 4, 8 or 16 bytes in one access where the pointers allow it, single
/// elements otherwise and at the end.
namespace octet::cuda {

/// `size` neighbouring elements in registers. Indexed by constants only. For packs of any size, and for code that runs
/// with whole packs and with the elements that are left over; where all is 16 bytes and aligned, Pack (vector.cuh)
/// does.
template <typename T, int size>
struct Chunk {
  T v[size];
};

template <int bytes>
struct WordOf;
template <>
struct WordOf<4> {
  using type = unsigned;
};
template <>
struct WordOf<8> {
  using type = uint2;
};
template <>
struct WordOf<16> {
  using type = uint4;
};

/// `full`: all `size` elements at p in one access, p aligned to their bytes. Otherwise `count` of them (0 to size) one
/// by one, and zero beyond. Safe for data that the kernel writes too.
template <bool full, int size, typename T>
__device__ __forceinline__ Chunk<T, size> read(const T* p, int count) {
  Chunk<T, size> chunk;
  if constexpr (full) {
    using Word = typename WordOf<size* static_cast<int>(sizeof(T))>::type;
    const Word word = *reinterpret_cast<const Word*>(p);
    std::memcpy(static_cast<void*>(&chunk), &word, sizeof(word));
  } else {
#pragma unroll
    for (int j = 0; j < size; ++j) chunk.v[j] = j < count ? p[j] : T(0);
  }
  return chunk;
}

/// The counterpart of read.
template <bool full, int size, typename T>
__device__ __forceinline__ void write(T* p, const Chunk<T, size>& chunk, int count) {
  if constexpr (full) {
    using Word = typename WordOf<size* static_cast<int>(sizeof(T))>::type;
    Word word;
    std::memcpy(&word, static_cast<const void*>(&chunk), sizeof(word));
    *reinterpret_cast<Word*>(p) = word;
  } else {
#pragma unroll
    for (int j = 0; j < size; ++j) {
      if (j < count) p[j] = chunk.v[j];
    }
  }
}

/// What was read stands in registers here, as far as the compiler knows: it moves no read behind the arithmetic.
template <typename T, int size>
__device__ __forceinline__ void keep_here(Chunk<T, size>& chunk) {
  unsigned words[sizeof(chunk) / 4];
  std::memcpy(words, static_cast<const void*>(&chunk), sizeof(chunk));
#pragma unroll
  for (unsigned& word : words) asm volatile("" : "+r"(word));
  std::memcpy(static_cast<void*>(&chunk), words, sizeof(chunk));
}

/// f(full, at, count) for every pack of [0, n), grid-stride: std::true_type for the first `packs` of them (all their
/// elements are there and aligned), std::false_type for the rest. Which thread takes which element, and in which order,
/// depends on n and the grid only. `at_once`: of the first, as many are under way together.
template <int size, int at_once = 2, typename F>
__device__ __forceinline__ void for_packs(std::int64_t n, std::int64_t packs, F&& f) {
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
#pragma unroll at_once
  for (; i < packs; i += stride) f(std::true_type{}, i * size, size);
#pragma unroll 1
  for (; i * size < n; i += stride) {
    const std::int64_t left = n - i * size;
    f(std::false_type{}, i * size, left < size ? static_cast<int>(left) : size);
  }
}

/// Host side: whether every pointer is a multiple of `bytes`.
template <typename... Pointers>
bool aligned(std::uintptr_t bytes, const Pointers*... pointers) {
  return ((reinterpret_cast<std::uintptr_t>(pointers) % bytes == 0) && ...);
}

}  // namespace octet::cuda
