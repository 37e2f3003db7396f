#pragma once

#include <cstdint>

#include "kernels/cpu/gemm/hopper_product.h"

namespace octet::cpu {

/// The codes of an fp8 operand, by row and column of the matrix as it enters the product.
struct CodeMatrix {
  const std::uint8_t* codes;
  std::int64_t row_stride, column_stride;
  DType format;

  CodeMatrix(const MultiplyOperand& x, DType dtype)
      : codes(static_cast<const std::uint8_t*>(x.data)),
        row_stride(x.transposed ? 1 : x.stride),
        column_stride(x.transposed ? x.stride : 1),
        format(dtype) {}
  const std::uint8_t* at(std::int64_t row, std::int64_t column) const {
    return codes + row * row_stride + column * column_stride;
  }
};

/// Codes from this on, without their sign, are not finite.
constexpr int first_special(DType format) {
  return format == DType::e4m3 ? 0x7F : 0x7C;
}

constexpr float decode_float8(std::uint8_t code, DType format) {
  return format == DType::e4m3 ? e4m3::decode(code) : e5m2::decode(code);
}

/// Writes the IEEE sum to every element of C whose row of A or column of B has a code that is not finite. Costs a look
/// at each code where there is none.
void patch_special(const HopperMultiply& args);

}  // namespace octet::cpu
