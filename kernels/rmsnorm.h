#pragma once

#include <cstdint>

#include "kernels/stats.h"

namespace octet {

/// sum = residual + branch (rounded to dtype);  y = sum / sqrt(mean(sum²) + eps) · weight, computed in fp32.
/// Must move rows · dim · sizeof(dtype) · (2 reads + 2 writes), or 1 + 1 without a branch; a write less without y.
struct AddRmsNormForward {
  const void* residual = nullptr;  ///< [rows, dim]
  const void* branch = nullptr;    ///< [rows, dim], or null: sum is residual itself and is not written
  const void* weight = nullptr;    ///< [dim]
  void* sum = nullptr;             ///< [rows, dim]; may be residual
  void* y = nullptr;               ///< [rows, dim]; null where only its float8 form or statistics are wanted, or sum
  float* inverse_rms = nullptr;    ///< [rows], kept for backward
  DType dtype = DType::bf16;       ///< f32 or bf16, of every void pointer
  std::int64_t rows = 0;
  std::int64_t dim = 0;
  float eps = 1e-5f;
  StatsOut stats;      ///< of y
  Float8Out float8{};  ///< of y; no transposed form

  std::int64_t bytes_moved() const {
    const int tensors = (branch == nullptr ? 2 : 4) - (y == nullptr ? 1 : 0);
    return rows * dim * (size_of(dtype) * tensors + float8.forms()) + rows * 4;
  }
  bool operator==(const AddRmsNormForward&) const = default;
};

/// dx = d_residual + dy · d(norm)/d(sum);  d_weight (+)= column sums of dy · sum · inverse_rms.
/// d_weight is summed over blocks of rows, then over the blocks, both in an order that depends on the shape alone: same
/// bits for any number of threads.
struct RmsNormBackward {
  const void* dy = nullptr;            ///< [rows, dim]
  const void* x = nullptr;             ///< [rows, dim], the forward's sum
  const void* weight = nullptr;        ///< [dim]
  const float* inverse_rms = nullptr;  ///< [rows]
  const void* d_residual = nullptr;    ///< [rows, dim], gradient that reaches the sum directly; null is zero
  void* dx = nullptr;                  ///< [rows, dim]; may be d_residual or dy
  float* d_weight = nullptr;           ///< [dim]
  bool accumulate = false;             ///< add to d_weight
  DType dtype = DType::bf16;
  std::int64_t rows = 0;
  std::int64_t dim = 0;
  StatsOut stats;             ///< of dx
  Float8Out float8{};         ///< of dx; no transposed form
  void* workspace = nullptr;  ///< KernelTable::rmsnorm_backward_workspace bytes

  std::int64_t bytes_moved() const {
    return rows * dim * (size_of(dtype) * (d_residual == nullptr ? 3 : 4) + float8.forms()) + rows * 4;
  }
  bool operator==(const RmsNormBackward&) const = default;
};

}  // namespace octet
