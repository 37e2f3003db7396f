#pragma once

#include <cstdint>

#include "kernels/cpu/gemm/multiply.h"
#include "kernels/gemm.h"

namespace octet::cpu {

/// The block [row, row + rows) × [column, column + columns) of a matrix.
struct BlockPlace {
  std::int64_t row = 0, column = 0;
  std::int64_t rows = 0, columns = 0;
};

/// An operand as it enters the product, whether it is stored so or transposed: A [m, k] or B [k, n].
struct ProductMatrix {
  const GemmOperand& stored;
  std::int64_t rows = 0, columns = 0;
  bool sums_over_rows = false;  ///< k is the row (B), not the column (A)
};
inline ProductMatrix matrix_a(const Gemm& args) {
  return {.stored = args.a, .rows = args.m, .columns = args.k, .sums_over_rows = false};
}
inline ProductMatrix matrix_b(const Gemm& args) {
  return {.stored = args.b, .rows = args.k, .columns = args.n, .sums_over_rows = true};
}

/// A block of an operand in the dtype `form`, for multiply or hopper_multiply. Where the operand is stored in another
/// dtype the block is widened and packed to `widened`, which has room for it, and with its scales where those lie along
/// k: the product is then of values, and no scale is left to enter it. Otherwise it is read where it lies.
MultiplyOperand take_block(const ProductMatrix& x, DType form, const BlockPlace& place, void* widened);

}  // namespace octet::cpu
