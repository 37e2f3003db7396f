#include "kernels/cpu/gemm/gemm_blocks.h"

#include <algorithm>
#include <cstddef>

#include "kernels/cpu/parts/blocks.h"
#include "kernels/cpu/parts/vector.h"

namespace octet::cpu {
namespace {

/// Widens and packs a block of a matrix whose rows are `stride` elements apart, from its first element on.
template <typename To, typename From>
void widen_block(const From* x, std::int64_t stride, std::int64_t rows, std::int64_t columns, To* y) {
  if (columns == stride) {
    const auto widen = [=](std::int64_t begin, std::int64_t end) { convert_loop(x + begin, y + begin, end - begin); };
    for_blocks(rows * columns, conversion_block, widen, serial_conversion_blocks);
    return;
  }
#pragma omp parallel for schedule(static)
  for (std::int64_t r = 0; r < rows; ++r) convert_loop(x + r * stride, y + r * columns, columns);
}

/// The inverse scale of each value of a matrix as stored.
struct StoredScales {
  const float* inverse;
  ScaleForm form;
  std::int64_t kept, contracted;  ///< extents, which the layout of the scales follows (scale_layout.h)
  bool rows_contracted;

  /// That of (row, column); those of the next columns of its block are `step` floats apart.
  const float* at(std::int64_t row, std::int64_t column) const {
    return inverse + (rows_contracted ? scale_index(form, kept, contracted, column, row)
                                      : scale_index(form, kept, contracted, row, column));
  }
  std::int64_t step() const { return rows_contracted && form == ScaleForm::vectors ? 1 : 0; }
};

/// widen_block with a scale for each value: y = x · inverse scale in fp32. `place` says where in the matrix as stored
/// the block is; x is its first element.
template <typename From>
void scale_and_widen_block(const From* x, std::int64_t stride, const BlockPlace& place, const StoredScales& scales,
                           float* y) {
  const std::int64_t columns = place.columns;
#pragma omp parallel for schedule(static)
  for (std::int64_t r = 0; r < place.rows; ++r) {
    for (std::int64_t begin = 0; begin < columns;) {
      const std::int64_t run = std::min(scale_block - (place.column + begin) % scale_block, columns - begin);
      const From* __restrict from = x + r * stride + begin;
      float* __restrict to = y + r * columns + begin;
      const float* __restrict scale = scales.at(place.row + r, place.column + begin);
      if (scales.step() == 0) {
        const float one = *scale;
#pragma omp simd
        for (std::int64_t c = 0; c < run; ++c) to[c] = static_cast<float>(from[c]) * one;
      } else {
#pragma omp simd
        for (std::int64_t c = 0; c < run; ++c) to[c] = static_cast<float>(from[c]) * scale[c];
      }
      begin += run;
    }
  }
}

/// `place` is in the matrix as stored, as for scale_and_widen_block.
template <typename From>
void widen(const ProductMatrix& x, const From* from, std::int64_t stride, DType form, const BlockPlace& place,
           void* widened) {
  const GemmOperand& stored = x.stored;
  if (along_contraction(stored.scales)) {
    const StoredScales scales{.inverse = stored.inverse_scale,
                              .form = stored.scales,
                              .kept = x.sums_over_rows ? x.columns : x.rows,
                              .contracted = x.sums_over_rows ? x.rows : x.columns,
                              .rows_contracted = x.sums_over_rows != stored.transposed};
    scale_and_widen_block(from, stride, place, scales, static_cast<float*>(widened));
  } else if (form == DType::f32) {
    widen_block(from, stride, place.rows, place.columns, static_cast<float*>(widened));
  } else if constexpr (sizeof(From) == 1) {  // bf16 is widened to f32 alone
    widen_block(from, stride, place.rows, place.columns, static_cast<bf16*>(widened));
  }
}

BlockPlace transpose(const BlockPlace& place) {
  return {.row = place.column, .column = place.row, .rows = place.columns, .columns = place.rows};
}

}  // namespace

MultiplyOperand take_block(const ProductMatrix& x, DType form, const BlockPlace& place, void* widened) {
  const GemmOperand& stored = x.stored;
  const BlockPlace at = stored.transposed ? transpose(place) : place;
  const std::int64_t stride = stored.transposed ? x.rows : x.columns;
  const std::int64_t offset = at.row * stride + at.column;
  if (stored.dtype == form) {
    return {static_cast<const std::byte*>(stored.data) + offset * size_of(form), stride, stored.transposed};
  }
  dispatch_storage_or_float8(stored.dtype, [&](auto value) {
    using From = decltype(value);
    widen(x, static_cast<const From*>(stored.data) + offset, stride, form, at, widened);
  });
  return {widened, at.columns, stored.transposed};
}

}  // namespace octet::cpu
