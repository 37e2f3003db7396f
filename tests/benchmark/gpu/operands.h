#pragma once

#include "tests/benchmark/gpu/cases.h"

namespace octet::bench {

/// An operand [rows, k] of a GEMM and what is launched before it at each turn (nothing, unless it is cast there).
struct Operand {
  GemmOperand operand;
  std::function<void(const Place&)> prepare = [](const Place&) {};
};

/// The values as the GEMM reads them, `transposed` as in GemmOperand. fp8 has one scale, or one a row.
Operand stored(Case& c, DType dtype, std::int64_t rows, std::int64_t k, bool transposed,
               ScaleForm scales = ScaleForm::tensor);

/// What is cast in front of a GEMM: a bf16 tensor stored [rows, k], or [k, rows] when `transposed`; the cast writes the
/// one form that Hopper's GEMM reads, with k contiguous.
struct Source {
  std::int64_t rows = 0;
  std::int64_t k = 0;
  bool transposed = false;
  DType format = DType::e4m3;
};

/// Recipe tensorwise: a pass for the abs-max, the scale, the cast. Reads the tensor twice.
Operand cast_dynamic(Case& c, const Source& x);
/// Recipe delayed: the scale is there before the tensor, so the cast alone.
Operand cast_delayed(Case& c, const Source& x);
/// Recipes rowwise: a scale for each of `rows`, whose k values the GEMM sums over.
Operand cast_rowwise(Case& c, const Source& x);
/// Recipe blockwise: a scale for each of `rows` and each 128 of k, or for each 128 x 128.
Operand cast_vectors(Case& c, const Source& x);
Operand cast_blocks(Case& c, const Source& x);

}  // namespace octet::bench
