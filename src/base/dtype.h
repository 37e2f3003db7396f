#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "src/base/bfloat16.h"
#include "src/base/error.h"
#include "src/base/float8.h"
#include "src/base/named_enum.h"

namespace octet {

enum class DType : std::uint8_t { f32, bf16, e4m3, e5m2, i32, u8 };

constexpr std::int64_t size_of(DType t) {
  switch (t) {
    case DType::f32:
    case DType::i32:
      return 4;
    case DType::bf16:
      return 2;
    case DType::e4m3:
    case DType::e5m2:
    case DType::u8:
      return 1;
  }
  return 0;
}

constexpr auto names_of(DType) {
  return std::to_array<std::string_view>({"f32", "bf16", "e4m3", "e5m2", "i32", "u8"});
}

constexpr bool is_float8(DType t) {
  return t == DType::e4m3 || t == DType::e5m2;
}

/// Largest finite value of an fp8 format; the numerator of every tensorwise scale.
inline float float8_max(DType t) {
  if (t == DType::e4m3) return e4m3::max;
  if (t == DType::e5m2) return e5m2::max;
  throw internal_error("base", "float8_max of {}, which is not an 8-bit float", name_of(t));
}

template <typename T>
struct dtype_of;
template <>
struct dtype_of<float> : std::integral_constant<DType, DType::f32> {};
template <>
struct dtype_of<bf16> : std::integral_constant<DType, DType::bf16> {};
template <>
struct dtype_of<e4m3> : std::integral_constant<DType, DType::e4m3> {};
template <>
struct dtype_of<e5m2> : std::integral_constant<DType, DType::e5m2> {};
template <>
struct dtype_of<std::int32_t> : std::integral_constant<DType, DType::i32> {};
template <>
struct dtype_of<std::uint8_t> : std::integral_constant<DType, DType::u8> {};

}  // namespace octet
