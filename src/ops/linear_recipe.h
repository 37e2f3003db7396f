#pragma once

#include <string_view>

#include "src/ops/precision.h"
#include "src/tensor/tensor.h"

namespace octet {

/// How one linear computes. In float8 input and weight are e4m3, the output gradient is e5m2 (one scale a tensor) or
/// e4m3 (rowwise), and the GEMMs are fp8 but for what the granularity says, by default with fast accumulation in the
/// forward GEMM only. Where the scales come from is the run's (src/ops/scaling.h).
struct LinearRecipe {
  std::string_view name;  ///< "attention.wq", for traces
  bool float8 = false;
  Float8Sums sums{};  ///< only for float8
  ScalingGranularity granularity = ScalingGranularity::tensorwise;
  bool delayed = false;  ///< only for float8: but in a run's first step, scales are those of steps before

  bool operator==(const LinearRecipe&) const = default;

  /// Casts by row or column, where a GEMM reads (src/ops/rowwise.h): nothing of the linear is kept or gathered in fp8.
  bool rowwise() const { return float8 && granularity != ScalingGranularity::tensorwise; }
  bool float8_grad_weight() const { return float8 && granularity != ScalingGranularity::rowwise_with_gw_hp; }
  DType grad_output_format() const { return rowwise() ? DType::e4m3 : DType::e5m2; }
  static constexpr DType input_format = DType::e4m3;
  static constexpr DType weight_format = DType::e4m3;
};

/// What a linear's gradients read of an output gradient or an input: the tensor, and what the weight's gradient reads
/// instead of it where that differs: a transposed copy, or a form with other scales or without.
struct GradOperand {
  Tensor rows;        ///< [n, columns]
  Tensor for_weight;  ///< [columns, n], or [n, columns]; of rank 0 when it is `rows`

  GradOperand(const Tensor& r, const Tensor& w = {}) : rows(r), for_weight(w) {}
};

}  // namespace octet
