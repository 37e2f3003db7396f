#pragma once

#include <cstdint>

/// A vector register's worth of floats, for loops that are written register by register: attention's tiles and products
/// of few rows.
namespace octet::cpu::registers {

#if defined(__AVX512F__)
inline constexpr int lanes = 16;
#elif defined(__AVX__)
inline constexpr int lanes = 8;
#else
inline constexpr int lanes = 4;
#endif
using Vector = float __attribute__((vector_size(lanes * sizeof(float)), may_alias));
using Integers = std::int32_t __attribute__((vector_size(lanes * sizeof(float)), may_alias));

inline Vector load(const float* p) {
  return *reinterpret_cast<const Vector*>(p);
}
inline void store(float* p, Vector v) {
  *reinterpret_cast<Vector*>(p) = v;
}
inline Vector broadcast(float x) {
  return Vector{} + x;
}
inline Vector max(Vector a, Vector b) {
  return a > b ? a : b;
}

}  // namespace octet::cpu::registers
