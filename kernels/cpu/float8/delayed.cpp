#include "kernels/delayed.h"

#include <cmath>
#include <limits>

#include "kernels/cpu/cpu_kernels.h"
#include "kernels/cpu/float8/scale.h"
#include "kernels/cpu/parts/blocks.h"
#include "src/base/dtype.h"

namespace octet::cpu {
namespace {

/// Puts the newest in front; the largest of what the history then holds.
float roll(float* history, float newest, std::int64_t length, std::int64_t stride) {
  float largest = 0.0f;
  for (std::int64_t row = 0; row < length; ++row) {
    std::swap(history[row * stride], newest);
    largest = std::max(largest, history[row * stride]);
  }
  return largest;
}

}  // namespace

void record_amax(Stream&, const RecordAmax& args) {
  for (std::int64_t i = 0; i < args.n; ++i) {
    const float amax = args.amax[i];
    if (amax > args.recorded[i] || std::isnan(amax)) args.recorded[i] = amax;
  }
}

void delayed_scales(Stream&, const DelayedScales& args) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (std::int64_t i = 0; i < args.n; ++i) {
    float scale = args.first ? 1.0f : args.scale[i];
    const float newest = args.recorded[i];
    args.recorded[i] = 0.0f;
    if (newest > 0.0f && newest < infinity) {
      const float largest = roll(args.history + i, newest, args.length, args.n);
      const DType format = i < args.e5m2_from ? DType::e4m3 : DType::e5m2;
      const float highest = std::ldexp(static_cast<float>(float8_max(format)), -args.margin);
      scale = std::min(highest / (args.most_recent ? newest : largest), std::numeric_limits<float>::max());
      if (args.power_of_two) scale = power_below(scale);
    }
    args.scale[i] = scale;
    args.inverse_scale[i * inverse_scale_stride] = 1.0f / scale;
  }
}

}  // namespace octet::cpu
