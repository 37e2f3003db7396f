#pragma once

#include <cstdint>

#include "kernels/scale_layout.h"
#include "kernels/stats.h"
#include "src/base/dtype.h"
#include "src/device/device.h"

namespace octet {

/// fp8 scales from abs-maxes, tensorwise (torchao float8_utils.amax_to_scale):
///   scale = float(double(max_of_format) / double(max(amax, 1e-12)));  inverse_scale = 1 / scale in fp32.
/// With power_of_two the scale is then exp2(floor(log2(scale))), formed exactly: never above the scale itself (torch's
/// fp32 log2 can round up to the next power just below it).
/// NaN in gives NaN out; amax = 0 gives a finite scale.
struct ComputeScales {
  const float* amax = nullptr;     ///< [n], device
  float* scale = nullptr;          ///< [n]
  float* inverse_scale = nullptr;  ///< [n], inverse_scale_stride floats apart
  std::int64_t n = 0;
  DType format = DType::e4m3;
  bool power_of_two = false;

  std::int64_t bytes_moved() const { return n * 12; }
  bool operator==(const ComputeScales&) const = default;
};

/// y = saturating round-to-nearest-even of (float(x) · *scale). Reads n · sizeof(from) bytes, writes n for each of y
/// and y_transposed that is asked for.
struct CastToFloat8 {
  const void* x = nullptr;  ///< [n], f32 or bf16
  DType from = DType::bf16;
  void* y = nullptr;  ///< [n]
  DType to = DType::e4m3;
  std::int64_t n = 0;
  const float* scale = nullptr;  ///< one fp32 on the device
  void* y_transposed = nullptr;  ///< [columns, n / columns] when not null
  std::int64_t columns = 0;      ///< of x as a matrix; needed for y_transposed and row_factor only
  /// When `row_factor` is not null, what is cast is not x but x · row_factor[row] · column_factor[column], rounded to
  /// `from`: a norm's output that has no place in memory, in the bits that AddRmsNormForward would store. Not with
  /// `stats`, which the norm takes.
  const float* row_factor = nullptr;    ///< [n / columns]
  const void* column_factor = nullptr;  ///< [columns] of `from`
  /// When `amax` is not null the scale is formed from it by the rule of ComputeScales and written beside the cast,
  /// which saves a launch for two numbers; `scale` is then not read. n must be positive.
  const float* amax = nullptr;
  bool power_of_two = false;
  float* scale_out = nullptr;
  float* inverse_scale_out = nullptr;
  StatsOut stats{};  ///< of x, in the same read; not with `amax`

  std::int64_t bytes_moved() const {
    const std::int64_t factors = row_factor != nullptr ? n / columns * 4 : 0;
    return n * (size_of(from) + (y != nullptr ? 1 : 0) + (y_transposed != nullptr ? 1 : 0)) + factors;
  }
  bool operator==(const CastToFloat8&) const = default;
};

/// y[c, r] = x[r, c] of one-byte elements.
struct TransposeFloat8 {
  const void* x = nullptr;  ///< [rows, columns]
  void* y = nullptr;        ///< [columns, rows]
  std::int64_t rows = 0;
  std::int64_t columns = 0;

  std::int64_t bytes_moved() const { return rows * columns * 2; }
  bool operator==(const TransposeFloat8&) const = default;
};

/// f32 to bf16 (round to nearest even), bf16 to f32, or a copy.
struct Convert {
  const void* x = nullptr;
  DType from = DType::f32;
  void* y = nullptr;
  DType to = DType::bf16;
  std::int64_t n = 0;

  std::int64_t bytes_moved() const { return n * (size_of(from) + size_of(to)); }
  bool operator==(const Convert&) const = default;
};

}  // namespace octet
