#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>

#include "src/base/dtype.h"

/// Conversion loops that gcc and clang vectorise, shared by the kernels. One thread; ranges do not overlap.
namespace octet::cpu {

/// Elements that one thread takes at a time in element-wise kernels: large enough to hide the loop, small enough that
/// source and result stay in L1/L2.
inline constexpr std::int64_t element_block = 16384;

/// body(begin, end) for every block of [0, n), over the threads. The blocks do not depend on the thread count.
template <typename Body>
void for_each_block(std::int64_t n, const Body& body) {
  const std::int64_t blocks = (n + element_block - 1) / element_block;
#pragma omp parallel for schedule(static) if (blocks > 2)
  for (std::int64_t b = 0; b < blocks; ++b) body(b * element_block, std::min(n, (b + 1) * element_block));
}

/// to = x, rounded to the storage type. gcc vectorises this, and not the construction of a bf16.
inline void assign(float& to, float x) {
  to = x;
}
template <typename T>
void assign(T& to, float x) {
  to.bits = T::encode(x);
}

/// y = x: exact for float from bf16, e4m3, e5m2 and for bf16 from e4m3, e5m2; rounded to nearest even to bf16.
template <typename To, typename From>
void convert_loop(const From* __restrict x, To* __restrict y, std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    if constexpr (std::is_same_v<To, From>) {
      y[i] = x[i];
    } else if constexpr (std::is_same_v<To, float> || std::is_same_v<From, float>) {
      assign(y[i], static_cast<float>(x[i]));
    } else {  // fp8 has fewer bits than bf16: cutting the float is exact
      const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(x[i]));
      y[i].bits = static_cast<std::uint16_t>(bits >> 16);
    }
  }
}

/// visit(T{}) with the storage type of an f32, bf16 or fp8 tensor.
template <typename Visitor>
void with_float_type(DType dtype, const Visitor& visit) {
  switch (dtype) {
    case DType::f32:
      return visit(float{});
    case DType::bf16:
      return visit(bf16{});
    case DType::e4m3:
      return visit(e4m3{});
    case DType::e5m2:
      return visit(e5m2{});
    default:
      throw internal_error("kernels", "{} tensor where a floating-point one was expected", name_of(dtype));
  }
}

}  // namespace octet::cpu
