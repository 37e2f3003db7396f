#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/adamw.h"
#include "kernels/cuda/device/float8.cuh"
#include "kernels/cuda/device/packs.cuh"
#include "kernels/cuda/device/ratios.cuh"
#include "kernels/cuda/device/stats_fold.cuh"

/// The update of four neighbouring elements by AdamW, for the kernels of adamw.cu.
namespace octet::cuda {

/// What a kernel is told of an update beside the scalars that all have.
struct AdamWSlice {
  float *parameter, *first_moment, *second_moment;
  const void* gradient;
  __nv_bfloat16* rounded;  ///< null: the new parameter does not go there
  std::uint8_t* codes;     ///< likewise for e4m3, by *code_scale
  const float* code_scale;
  float* amax;
  std::int64_t n, packs;  ///< elements; of them, in fours that lie on 16 bytes
  float decay;

  explicit AdamWSlice(const AdamWUpdate& u);
  AdamWSlice() = default;
};

inline AdamWSlice::AdamWSlice(const AdamWUpdate& u)
    : parameter(u.parameter),
      first_moment(u.first_moment),
      second_moment(u.second_moment),
      gradient(u.gradient),
      rounded(static_cast<__nv_bfloat16*>(u.rounded)),
      codes(static_cast<std::uint8_t*>(u.float8.y)),
      code_scale(u.float8.scale),
      amax(u.stats.amax),
      n(u.n),
      decay(factors_of(u).decay) {
  const bool wide =
      aligned(16, parameter, first_moment, second_moment) && aligned(8, rounded) && aligned(4, codes) &&
      aligned(static_cast<std::uintptr_t>(4 * size_of(u.gradient_dtype)), static_cast<const char*>(gradient));
  packs = wide ? n / 4 : 0;
}

/// What all updates of a launch have in common.
struct AdamWScalars {
  AdamWFactors by;
  float least;  ///< from which on a second moment is usual: least_usual_second
  const float* gradient_scale;
  const std::uint32_t* skip;

  __device__ __forceinline__ bool skips() const { return skip != nullptr && *skip != 0; }
  __device__ __forceinline__ float scale() const { return gradient_scale == nullptr ? 1.0f : *gradient_scale; }
};

/// What a thread reads of four neighbouring elements; gradients are stored as G.
template <typename G>
struct AdamWElements {
  Chunk<G, 4> gradient;
  Chunk<float, 4> first, second, parameter;
};

template <typename G, bool full>
__device__ __forceinline__ AdamWElements<G> read_elements(const AdamWSlice& slice, std::int64_t at, int count) {
  return {.gradient = read<full, 4>(static_cast<const G*>(slice.gradient) + at, count),
          .first = read<full, 4>(slice.first_moment + at, count),
          .second = read<full, 4>(slice.second_moment + at, count),
          .parameter = read<full, 4>(slice.parameter + at, count)};
}

/// The usual ranges of what ratios.cuh is given: a second moment from 2^-100 up to most_second, a root of its bias from
/// 2^-20 to 1 and an eps of at most 1 make denominators of 2^-50 to 2^40 and a little; with a step times the first
/// moment from least_first up to most_first, or the negative of that, quotients are of 2^-121 to 2^110.
inline constexpr float most_second = 0x1p40f, least_first = 0x1p-80f, most_first = 0x1p60f;

/// The least of second moments that are usual; infinity, so that none is, by scalars that no training has.
inline float least_usual_second(const AdamWFactors& by) {
  const bool usual = by.root_bias2 >= 0x1p-20f && by.root_bias2 <= 1 && by.eps >= 0 && by.eps <= 1;
  return usual ? 0x1p-100f : INFINITY;
}

inline AdamWScalars scalars_of(const AdamWUpdate& u) {
  const AdamWFactors by = factors_of(u);
  return {by, least_usual_second(by), u.gradient_scale, u.skip};
}

/// The parameter as it is left, in e4m3.
template <bool full>
__device__ __forceinline__ void write_codes_of(const AdamWSlice& slice, const Chunk<float, 4>& parameter,
                                               std::int64_t at, int count) {
  if (slice.codes == nullptr) return;  // the same for all threads
  write_codes<full, 4>(slice.codes + at, Float8Cast{*slice.code_scale, true}(parameter), count);
}

/// The arithmetic is the CPU's, operation by operation: nothing is contracted (--fmad=false), divisions and square
/// roots are rounded correctly. Four elements side by side: the compiler's own divisions and roots have a branch each,
/// so that one would wait for the other.
template <typename G>
__device__ __forceinline__ void advance(const AdamWSlice& slice, const AdamWScalars& scalars, float gradient_scale,
                                        float over_root_bias2, AdamWElements<G>& e) {
  const AdamWFactors& by = scalars.by;
  float change[4];
  bool usual = true;
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    const float g = to_float(e.gradient.v[j]) * gradient_scale;
    const float m = e.first.v[j] + by.first * (g - e.first.v[j]);
    const float v = e.second.v[j] * by.beta2 + by.second * g * g;
    e.first.v[j] = m;
    e.second.v[j] = v;
    const float above = by.step * m, size = fabsf(above);
    usual = usual && v >= scalars.least && v < most_second && size >= least_first && size < most_first;
    change[j] = usual_quotient(above, usual_quotient(usual_root(v), by.root_bias2, over_root_bias2) + by.eps);
  }
  if (!usual) {
#pragma unroll
    for (int j = 0; j < 4; ++j) change[j] = by.step * e.first.v[j] / (sqrtf(e.second.v[j]) / by.root_bias2 + by.eps);
  }
#pragma unroll
  for (int j = 0; j < 4; ++j) e.parameter.v[j] = e.parameter.v[j] * slice.decay - change[j];
}

/// Stores what they become where all of it goes.
template <typename G, bool full>
__device__ __forceinline__ void update_elements(const AdamWSlice& slice, const AdamWScalars& scalars,
                                                float gradient_scale, float over_root_bias2, AdamWElements<G>& e,
                                                std::int64_t at, int count, StatsFold& fold) {
  advance(slice, scalars, gradient_scale, over_root_bias2, e);
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    if (full || j < count) fold.raise(e.parameter.v[j]);  // beyond the end even a zero may become NaN (eps = 0)
  }
  write<full>(slice.first_moment + at, e.first, count);
  write<full>(slice.second_moment + at, e.second, count);
  write<full>(slice.parameter + at, e.parameter, count);
  if (slice.rounded != nullptr) {  // the same for all threads, as what write_codes_of asks
    Chunk<__nv_bfloat16, 4> rounded;
#pragma unroll
    for (int j = 0; j < 4; ++j) rounded.v[j] = from_float<__nv_bfloat16>(e.parameter.v[j]);
    write<full>(slice.rounded + at, rounded, count);
  } else {
    write_codes_of<full>(slice, e.parameter, at, count);
  }
}

}  // namespace octet::cuda
