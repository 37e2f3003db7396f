#pragma once

#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "tests/emulated/thread_block.h"

/// The functions of CUDA C++ that the kernels call and that host code does not have, by the CUDA C++ Programming Guide
/// and the CUDA Math API Reference. In the global namespace, as CUDA's are.

inline void __syncthreads() {
  octet::emulated::block_barrier();
}
[[noreturn]] inline void __trap() {
  octet::emulated::fault("__trap");
}

namespace octet::emulated {

template <typename T>
std::uint64_t word_of(T value) {
  static_assert(sizeof(T) <= 8 && std::is_trivially_copyable_v<T>);
  std::uint64_t word = 0;
  std::memcpy(&word, &value, sizeof value);
  return word;
}
template <typename T>
T value_of(std::uint64_t word) {
  T value;
  std::memcpy(&value, &word, sizeof value);
  return value;
}
/// The value of lane `from`, the caller's own where `inside` is false.
template <typename T>
T shuffle(const char* what, unsigned mask, T value, unsigned from, bool inside) {
  LaneValues values;
  meet(what, mask, word_of(value), values);
  if (!inside) return value;
  if ((mask >> from & 1u) == 0) fault(what, ": reads a lane that is not of the mask");
  return value_of<T>(values[from]);
}
template <typename T, typename F>
T fold(const char* what, unsigned mask, T value, F&& f) {
  LaneValues values;
  meet(what, mask, word_of(value), values);
  bool first = true;
  T result{};
  for (unsigned i = 0; i < 32; ++i) {
    if ((mask >> i & 1u) == 0) continue;
    const T other = value_of<T>(values[i]);
    result = first ? other : f(result, other);
    first = false;
  }
  return result;
}

}  // namespace octet::emulated

inline void __syncwarp(unsigned mask = ~0u) {
  octet::emulated::warp_barrier(mask);
}
inline void __threadfence() {
  octet::emulated::fence();
}
template <typename T>
T __shfl_sync(unsigned mask, T value, int from, int width = 32) {
  const unsigned lane = octet::emulated::lane(), segment = lane & ~static_cast<unsigned>(width - 1);
  return octet::emulated::shuffle("__shfl_sync", mask, value,
                                  segment + (static_cast<unsigned>(from) % static_cast<unsigned>(width)), true);
}
template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int distance, int width = 32) {
  const unsigned lane = octet::emulated::lane(), from = lane ^ static_cast<unsigned>(distance);
  return octet::emulated::shuffle("__shfl_xor_sync", mask, value, from % 32,
                                  from / static_cast<unsigned>(width) <= lane / static_cast<unsigned>(width));
}
template <typename T>
T __shfl_up_sync(unsigned mask, T value, unsigned distance, int width = 32) {
  const unsigned lane = octet::emulated::lane();
  return octet::emulated::shuffle("__shfl_up_sync", mask, value, lane - distance,
                                  lane % static_cast<unsigned>(width) >= distance);
}
template <typename T>
T __shfl_down_sync(unsigned mask, T value, unsigned distance, int width = 32) {
  const unsigned lane = octet::emulated::lane();
  return octet::emulated::shuffle("__shfl_down_sync", mask, value, lane + distance,
                                  lane % static_cast<unsigned>(width) + distance < static_cast<unsigned>(width));
}
inline unsigned __reduce_max_sync(unsigned mask, unsigned value) {
  return octet::emulated::fold("__reduce_max_sync", mask, value, [](unsigned a, unsigned b) { return a > b ? a : b; });
}
inline unsigned __reduce_add_sync(unsigned mask, unsigned value) {
  return octet::emulated::fold("__reduce_add_sync", mask, value, [](unsigned a, unsigned b) { return a + b; });
}
inline unsigned __ballot_sync(unsigned mask, int predicate) {
  const unsigned mine = predicate != 0 ? 1u << octet::emulated::lane() : 0u;
  return octet::emulated::fold("__ballot_sync", mask, mine, [](unsigned a, unsigned b) { return a | b; });
}
template <typename T>
unsigned __match_any_sync(unsigned mask, T value) {
  octet::emulated::LaneValues values;
  octet::emulated::meet("__match_any_sync", mask, octet::emulated::word_of(value), values);
  unsigned equal = 0;
  for (unsigned i = 0; i < 32; ++i) {
    if ((mask >> i & 1u) != 0 && values[i] == octet::emulated::word_of(value)) equal |= 1u << i;
  }
  return equal;
}

using std::isfinite;
using std::isnan;

// Blocks run at once, so atomics are atomic here too.
template <typename T>
T atomicAdd(T* at, T value) {
  return std::atomic_ref<T>(*at).fetch_add(value, std::memory_order_relaxed);
}
template <typename T>
T atomicExch(T* at, T value) {
  return std::atomic_ref<T>(*at).exchange(value, std::memory_order_relaxed);
}
template <typename T>
T atomicMax(T* at, T value) {
  std::atomic_ref<T> shared(*at);
  T before = shared.load(std::memory_order_relaxed);
  while (before < value && !shared.compare_exchange_weak(before, value, std::memory_order_relaxed)) {
  }
  return before;
}

template <typename T>
T __ldg(const T* at) {
  return *at;
}
template <typename T>
T __ldcg(const T* at) {
  return *at;
}
inline int __popc(unsigned x) {
  return std::popcount(x);
}
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
  const std::uint64_t both = std::uint64_t{b} << 32 | a;
  unsigned result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned choice = selector >> (4 * i) & 7u;
    result |= static_cast<unsigned>(both >> (8 * choice) & 0xFFu) << (8 * i);
  }
  return result;
}
inline unsigned __vmaxu2(unsigned a, unsigned b) {
  const unsigned low = (a & 0xFFFFu) > (b & 0xFFFFu) ? a & 0xFFFFu : b & 0xFFFFu;
  const unsigned high = a >> 16 > b >> 16 ? a >> 16 : b >> 16;
  return high << 16 | low;
}
inline unsigned __float_as_uint(float x) {
  return std::bit_cast<unsigned>(x);
}
inline float __uint_as_float(unsigned x) {
  return std::bit_cast<float>(x);
}
inline float __fmaf_rn(float a, float b, float c) {
  return std::fma(a, b, c);
}
inline float __fmul_rn(float a, float b) {
  return a * b;
}
inline float __fdiv_rn(float a, float b) {
  return a / b;
}
inline float __fdividef(float a, float b) {  // "for 2^126 < |b| < 2^128 delivers 0"
  return std::fabs(b) > 0x1p126f && std::isfinite(b) ? (std::isinf(a) ? NAN : 0.0f * a) : a / b;
}
inline float __expf(float x) {
  return std::exp(x);
}

template <typename A, typename B>
constexpr std::common_type_t<A, B> max(A a, B b) {
  using T = std::common_type_t<A, B>;
  return static_cast<T>(a) < static_cast<T>(b) ? static_cast<T>(b) : static_cast<T>(a);
}
template <typename A, typename B>
constexpr std::common_type_t<A, B> min(A a, B b) {
  using T = std::common_type_t<A, B>;
  return static_cast<T>(b) < static_cast<T>(a) ? static_cast<T>(b) : static_cast<T>(a);
}
