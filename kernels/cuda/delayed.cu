#include "kernels/delayed.h"

#include <cfloat>
#include <cmath>

#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/scale.cuh"

namespace octet::cuda {
namespace {

constexpr int threads = 128;

__global__ void record_amax_kernel(const float* __restrict__ amax, float* __restrict__ recorded, std::int64_t n) {
  const std::int64_t i = std::int64_t{blockIdx.x} * threads + threadIdx.x;
  if (i >= n) return;
  const float value = amax[i];
  if (value > recorded[i] || isnan(value)) recorded[i] = value;
}

/// A thread a tensor: neighbouring threads read neighbouring floats of each row of the history.
__global__ void delayed_scales_kernel(DelayedScales args, float highest_e4m3, float highest_e5m2) {
  const std::int64_t i = std::int64_t{blockIdx.x} * threads + threadIdx.x;
  if (i >= args.n) return;
  float scale = args.first ? 1.0f : args.scale[i];
  const float newest = args.recorded[i];
  args.recorded[i] = 0.0f;
  if (newest > 0.0f && newest < INFINITY) {
    float largest = 0.0f, next = newest;
    for (std::int64_t row = 0; row < args.length; ++row) {
      float* place = args.history + row * args.n + i;
      const float older = *place;
      *place = next;
      largest = fmaxf(largest, next);
      next = older;
    }
    const float highest = i < args.e5m2_from ? highest_e4m3 : highest_e5m2;
    scale = fminf(__fdiv_rn(highest, args.most_recent ? newest : largest), FLT_MAX);
    if (args.power_of_two) scale = power_below(scale);
  }
  args.scale[i] = scale;
  args.inverse_scale[i * inverse_scale_stride] = __fdiv_rn(1.0f, scale);
}

unsigned blocks_of(std::int64_t n) {
  return static_cast<unsigned>(ceil_div(n, threads));
}

}  // namespace

void record_amax(Stream& stream, const RecordAmax& args) {
  if (args.n == 0) return;
  record_amax_kernel<<<blocks_of(args.n), threads, 0, native(stream)>>>(args.amax, args.recorded, args.n);
  check_launch("record_amax");
}

void delayed_scales(Stream& stream, const DelayedScales& args) {
  if (args.n == 0) return;
  const auto highest = [&](DType format) { return std::ldexp(static_cast<float>(float8_max(format)), -args.margin); };
  delayed_scales_kernel<<<blocks_of(args.n), threads, 0, native(stream)>>>(args, highest(DType::e4m3),
                                                                           highest(DType::e5m2));
  check_launch("delayed_scales");
}

}  // namespace octet::cuda
