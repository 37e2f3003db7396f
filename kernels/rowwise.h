#pragma once

#include <cstdint>

#include "src/base/dtype.h"
#include "src/device/device.h"

namespace octet {

/// One fp8 form of a matrix, with a scale for each of its rows or columns. Device pointers.
struct RowwiseForm {
  void* y = nullptr;               ///< rows · columns bytes; null: not asked for
  float* scale = nullptr;          ///< [rows] or [columns]
  float* inverse_scale = nullptr;  ///< likewise; it begins on gemm_scale_alignment bytes where a GEMM reads it

  bool wanted() const { return y != nullptr; }

  bool operator==(const RowwiseForm&) const = default;
};

/// A matrix cast to fp8 along the dimension over which a GEMM contracts it (torchao's axiswise scaling): every row, or
/// every column, has the scale of its own abs-max. Scales are those of ComputeScales (kernels/cast.h), codes the
/// saturating round-to-nearest-even of (float(x) · scale). A row or column with a NaN has NaN for its scale and codes.
///
/// by_row is for GEMMs that contract over the columns, by_column for those that contract over the rows; a gradient
/// wants both. The least that must be moved is one read of x and a byte a value and form; the CPU reads x again for the
/// second form, CUDA for both forms (once for the abs-maxes and once for the casts) and for one alone where it must:
/// rows of more than 32768 bf16 values (half as many in fp32), columns of fewer than 1024 or more than 28672, what
/// is not on 16 bytes, codes of columns that stay in rows, no clusters of blocks.
struct QuantizeRowwise {
  const void* x = nullptr;  ///< [rows, columns], f32 or bf16
  DType from = DType::bf16;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  DType to = DType::e4m3;
  bool power_of_two = false;
  RowwiseForm by_row{};            ///< y [rows, columns], scales [rows]
  RowwiseForm by_column{};         ///< y [rows, columns], or [columns, rows] when transposed; scales [columns]
  bool column_transposed = false;  ///< for kernels that read fp8 operands along k only

  std::int64_t bytes_moved() const {
    return rows * columns * (size_of(from) + (by_row.wanted() ? 1 : 0) + (by_column.wanted() ? 1 : 0));
  }
  bool operator==(const QuantizeRowwise&) const = default;
};

}  // namespace octet
