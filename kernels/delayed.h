#pragma once

#include <cstdint>

#include "kernels/scale_layout.h"
#include "src/device/device.h"

namespace octet {

/// recorded[i] = max(recorded[i], amax[i]); NaN of either wins.
struct RecordAmax {
  const float* amax = nullptr;  ///< [n], not negative
  float* recorded = nullptr;    ///< [n]
  std::int64_t n = 0;

  std::int64_t bytes_moved() const { return n * 12; }
  bool operator==(const RecordAmax&) const = default;
};

/// The end of a step of delayed scaling for all tensors of a model (TransformerEngine's delayed_scaling.cu):
///   history = recorded before what it held, without the oldest;
///   amax = the history's largest, or with `most_recent` the newest;
///   scale = max_of_format · 2^-margin / amax in fp32, the largest float where that overflows; inverse_scale = 1 /
///   scale.
/// A tensor whose recorded abs-max is 0, infinite or NaN keeps history and scale (of `first`: 1) as they were: it was
/// not used, or says nothing. (TransformerEngine lets an infinity into the history, where it would keep the scale from
/// changing for as long as it stays.)
struct DelayedScales {
  float* recorded = nullptr;       ///< [n]: the step's abs-maxes; zero afterwards
  float* history = nullptr;        ///< [length, n], newest first; 0: no step yet
  float* scale = nullptr;          ///< [n]
  float* inverse_scale = nullptr;  ///< [n], inverse_scale_stride floats apart
  std::int64_t n = 0;
  std::int64_t length = 1;
  std::int64_t e5m2_from = 0;  ///< tensors before it are cast to e4m3, from it on to e5m2
  int margin = 0;
  bool most_recent = false;
  bool power_of_two = false;  ///< the scale is then rounded down to a power of two, as ComputeScales does
  bool first = false;         ///< what `scale` holds is none of this recipe's

  std::int64_t bytes_moved() const { return n * length * 8; }
  bool operator==(const DelayedScales&) const = default;
};

}  // namespace octet
