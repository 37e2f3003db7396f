#pragma once

#include <cstdint>

#include "src/base/dtype.h"
#include "src/device/device.h"

namespace octet {

/// The place where a kernel leaves the statistics of a tensor that it wrote. All three are device pointers; null is
/// "not asked". Kernels that produce the input of an fp8 cast fill this in the pass that writes the tensor, which saves
/// a read.
struct StatsOut {
  /// max |x|, over the values as stored. One float, not negative, which is raised to it: zero before, so that one
  /// launch can zero the places of many tensors. NaN if any element is NaN (as torch.amax), and stays so.
  float* amax = nullptr;
  /// Number of NaN and infinite elements. Added to what is there; a sum that has no room in 32 bits becomes the largest
  /// number that has, since one that wrapped could be 0.
  std::uint32_t* non_finite = nullptr;

  constexpr bool wanted() const { return amax != nullptr || non_finite != nullptr; }

  bool operator==(const StatsOut&) const = default;
};

/// The place where a kernel leaves the fp8 form of a tensor that it wrote, when the scale is known before the values
/// (delayed scaling, a prediction, or a pass that has measured them): saturating round-to-nearest-even of (the value as
/// stored · *scale). Null is "not asked". Where it is asked for, the kernels that say so need not have a place for the
/// tensor itself.
struct Float8Out {
  void* y = nullptr;
  void* y_transposed = nullptr;  ///< [columns, rows], beside y; not every kernel offers it
  DType format = DType::e4m3;
  const float* scale = nullptr;  ///< one fp32 on the device

  bool wanted() const { return y != nullptr; }
  std::int64_t forms() const { return (y != nullptr ? 1 : 0) + (y_transposed != nullptr ? 1 : 0); }

  bool operator==(const Float8Out&) const = default;
};

/// Statistics of a tensor in a pass of their own.
struct Stats {
  const void* x = nullptr;  ///< [n], f32 or bf16
  DType dtype = DType::f32;
  std::int64_t n = 0;
  StatsOut out;

  /// The least that must be read and written: each operand once, without workspaces. Numbers of a tensor as a whole
  /// (scales, statistics, counters) are left out where the tensor is there too.
  std::int64_t bytes_moved() const { return n * size_of(dtype); }
  bool operator==(const Stats&) const = default;
};

}  // namespace octet
