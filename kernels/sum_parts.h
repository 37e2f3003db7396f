#pragma once

#include <cstdint>

#include "src/base/dtype.h"
#include "src/device/device.h"

namespace octet {

/// out[i] = Σ parts[p, i] over p = 0 ... count - 1, in that order and in fp32, rounded once to out's dtype; with
/// `accumulate` out[i] + that sum. The second half of a reduce-scatter whose first half is an all-to-all: narrow on the
/// wire, summed in fp32.
struct SumParts {
  const void* parts = nullptr;   ///< [count, n]
  DType dtype = DType::f32;      ///< of parts: f32 or bf16
  int count = 0;                 ///< at least 1
  std::int64_t n = 0;            ///< elements of one part
  void* out = nullptr;           ///< [n], apart from parts
  DType out_dtype = DType::f32;  ///< f32 or bf16
  bool accumulate = false;       ///< of out in f32 only

  std::int64_t bytes_moved() const { return n * (count * size_of(dtype) + size_of(out_dtype) * (accumulate ? 2 : 1)); }
  bool operator==(const SumParts&) const = default;
};

}  // namespace octet
