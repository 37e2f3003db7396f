#pragma once

#include <cstdint>

#include "src/base/dtype.h"
#include "src/device/device.h"

namespace octet {

/// *out = sum of x, in double over fixed blocks: same bits for any number of threads. For thousands of elements, such
/// as losses: on a GPU one block does it.
struct Sum {
  const float* x = nullptr;  ///< [n]
  std::int64_t n = 0;
  float* out = nullptr;

  std::int64_t bytes_moved() const { return n * 4; }
  bool operator==(const Sum&) const = default;
};

/// *out = sum of x², and the number of non-finite elements added to *non_finite, as StatsOut has it (may be null).
/// In double over fixed blocks: same bits for any number of threads, and for bf16 those of the same values in fp32.
struct SumOfSquares {
  const void* x = nullptr;   ///< [n]
  DType dtype = DType::f32;  ///< of x: f32 or bf16
  std::int64_t n = 0;
  float* out = nullptr;
  std::uint32_t* non_finite = nullptr;
  /// KernelTable::sum_of_squares_workspace bytes, which more elements never make fewer. Zero before the first call, and
  /// for calls on one stream alone: each leaves it ready for the next.
  void* workspace = nullptr;

  std::int64_t bytes_moved() const { return n * size_of(dtype); }
  bool operator==(const SumOfSquares&) const = default;
};

/// y += x, fp32.
struct Accumulate {
  const float* x = nullptr;  ///< [n]
  float* y = nullptr;        ///< [n]
  std::int64_t n = 0;

  std::int64_t bytes_moved() const { return n * 12; }
  bool operator==(const Accumulate&) const = default;
};

/// The norm and the clip factor of a global sum of squares: *norm = sqrt(sum);  *factor = min(1, max_norm / (norm +
/// 1e-6)) (as torch.nn.utils.clip_grad_norm_), 1 when max_norm is 0;  *skip becomes 1 when the norm is not finite and
/// is otherwise left alone, so that one bad step stops all later updates.
struct ClipFactor {
  const float* sum_of_squares = nullptr;
  float max_norm = 1.0f;
  float* norm = nullptr;
  float* factor = nullptr;
  std::uint32_t* skip = nullptr;

  std::int64_t bytes_moved() const { return 16; }
  bool operator==(const ClipFactor&) const = default;
};

}  // namespace octet
