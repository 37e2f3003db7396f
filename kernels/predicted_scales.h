#pragma once

#include <cstdint>

#include "kernels/adamw.h"

/// How an update writes a weight's fp8 codes in its own pass, although their scale follows from the abs-max of the
/// whole new weight, which is known when the pass is done. The largest element is nearly always the one that it was
/// before: the leader. predict_scales computes what the update will make of that one element, and from it the scale;
/// adamw writes the codes by that scale and takes the abs-max as ever; compute_scales makes the right scale;
/// recast_float8 compares the two and casts again where the prediction was wrong. So the codes are those of the right
/// scale whatever is predicted, and a wrong prediction costs what a cast after the update would.
namespace octet {

/// For each update with a leader:  *scale = the scale, by the rule of ComputeScales for e4m3, of |the element *leader
/// of the parameter as the update will leave it|.  Nothing else is written: to be called before adamw of the same
/// updates.
struct PredictScales {
  AdamWUpdates of;

  std::int64_t bytes_moved() const { return static_cast<std::int64_t>(of.count) * 28; }
  bool operator==(const PredictScales&) const = default;
};

/// Nothing where *written_by and *scale have the same bits. Otherwise y as CastToFloat8 writes it by *scale, in e4m3,
/// and in *leader the index of an element of x whose magnitude is *amax, any of them; it stays where there is none.
struct RecastFloat8 {
  const float* x = nullptr;           ///< [n]
  void* y = nullptr;                  ///< [n]
  std::int64_t n = 0;                 ///< a positive number
  const float* written_by = nullptr;  ///< device: the scale of the codes that y has
  const float* scale = nullptr;       ///< device
  const float* amax = nullptr;        ///< device: of x
  std::int64_t* leader = nullptr;     ///< device

  /// Of a prediction that was right.
  std::int64_t bytes_moved() const { return 8; }
  bool operator==(const RecastFloat8&) const = default;
};

}  // namespace octet
