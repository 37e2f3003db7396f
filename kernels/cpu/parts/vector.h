#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "src/base/dtype.h"

/// Conversions in loops that gcc and clang vectorise, shared by the kernels. One thread; ranges do not overlap.
namespace octet::cpu {

/// y = x rounded to the storage type. The bits are assigned, not the object: gcc copies objects through memory and then
/// does not vectorise the loop.
inline void store(float& y, float x) {
  y = x;
}
template <typename T>
void store(T& y, float x) {
  y.bits = T::encode(x);
}

/// y = x: exact for float from bf16, e4m3, e5m2 and for bf16 from e4m3, e5m2; rounded to nearest even to bf16.
template <typename To, typename From>
void convert_loop(const From* __restrict x, To* __restrict y, std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    if constexpr (std::is_same_v<To, From>) {
      y[i] = x[i];
    } else if constexpr (std::is_same_v<To, float> || std::is_same_v<From, float>) {
      store(y[i], static_cast<float>(x[i]));
    } else {  // fp8 has fewer bits than bf16: cutting the float is exact
      const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(x[i]));
      y[i].bits = static_cast<std::uint16_t>(bits >> 16);
    }
  }
}

/// A norm's output: y = x · inverse_rms · weight.
template <typename T>
void scale_row(const T* x, const T* weight, float inverse_rms, T* y, std::int64_t dim) {
#pragma omp simd
  for (std::int64_t i = 0; i < dim; ++i)
    store(y[i], static_cast<float>(x[i]) * inverse_rms * static_cast<float>(weight[i]));
}

}  // namespace octet::cpu
