#pragma once

#include <cstdint>

#include "kernels/scale_layout.h"
#include "src/base/dtype.h"
#include "src/device/device.h"

namespace octet {

// Casts to fp8 whose scales change along the dimension that a GEMM contracts, each from the abs-max of its own 128 or
// 128 x 128 values: DeepSeek-V3's fine-grained quantization (arXiv 2412.19437, section 3.3.2), vectors for inputs and
// output gradients, blocks for weights. A scale is that of ComputeScales (kernels/cast.h), and a code the saturating
// round-to-nearest-even of (float(x) · scale). Values that share a scale and of which one is NaN have NaN for their
// inverse scale and codes; where one is infinite the scale is 0, its inverse infinite, and it alone has the code of
// NaN.
//
// Inverse scales are written in the order of kernels/scale_layout.h, with zeros where that pads, and begin on
// gemm_scale_alignment bytes. Rows and columns are multiples of 128, since a GEMM with these scales reads no others:
// other extents are refused with the numbers.

/// One fp8 form of a matrix. Device pointers.
struct BlockwiseForm {
  void* y = nullptr;               ///< rows · columns bytes; null: not asked for
  float* inverse_scale = nullptr;  ///< scale_count(ScaleForm::vectors, kept, contracted) floats

  bool wanted() const { return y != nullptr; }

  bool operator==(const BlockwiseForm&) const = default;
};

/// A scale for each 128 neighbours along one dimension. by_row is for GEMMs that contract over the columns and has a
/// vector for each row and 128 columns, by_column for those that contract over the rows; an output gradient wants both.
/// Both come from one read of x.
struct QuantizeVectors {
  const void* x = nullptr;  ///< [rows, columns], f32 or bf16
  DType from = DType::bf16;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  DType to = DType::e4m3;
  bool power_of_two = false;
  BlockwiseForm by_row{};          ///< y [rows, columns]; kept are the rows
  BlockwiseForm by_column{};       ///< y [rows, columns], or [columns, rows] when transposed; kept are the columns
  bool column_transposed = false;  ///< for kernels that read fp8 operands along k only

  std::int64_t bytes_moved() const {
    const std::int64_t values = rows * columns, vectors = scale_count(ScaleForm::vectors, rows, columns);
    const std::int64_t forms = (by_row.wanted() ? 1 : 0) + (by_column.wanted() ? 1 : 0);
    return values * size_of(from) + forms * (values + 4 * vectors);
  }
  bool operator==(const QuantizeVectors&) const = default;
};

/// A scale for each block of 128 x 128, which is one scale whichever dimension a GEMM contracts: one cast serves the
/// forward pass and the gradient of the input, but each of the two wants the scales in an order of its own. What is not
/// asked for is null.
struct QuantizeBlocks {
  const void* x = nullptr;  ///< [rows, columns], f32 or bf16
  DType from = DType::bf16;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  DType to = DType::e4m3;
  bool power_of_two = false;
  void* y = nullptr;                         ///< [rows, columns]
  void* y_transposed = nullptr;              ///< [columns, rows], for kernels that read fp8 operands along k only
  float* inverse_scale_by_row = nullptr;     ///< scale_count(ScaleForm::blocks, rows, columns): contracts the columns
  float* inverse_scale_by_column = nullptr;  ///< scale_count(ScaleForm::blocks, columns, rows): contracts the rows

  std::int64_t bytes_moved() const {
    const std::int64_t forms = (y != nullptr ? 1 : 0) + (y_transposed != nullptr ? 1 : 0);
    const auto scales = [](const float* wanted, std::int64_t kept, std::int64_t contracted) {
      return wanted != nullptr ? 4 * scale_count(ScaleForm::blocks, kept, contracted) : 0;
    };
    return rows * columns * (size_of(from) + forms) + scales(inverse_scale_by_row, rows, columns) +
           scales(inverse_scale_by_column, columns, rows);
  }
  bool operator==(const QuantizeBlocks&) const = default;
};

/// The rules on extents and addresses, which hold on every device; an internal error with the numbers.
void check_operands(const QuantizeVectors& args);
void check_operands(const QuantizeBlocks& args);

}  // namespace octet
