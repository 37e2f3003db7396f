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

// A block has `columns` tensors, and for each of them `slices` threads, which have `rows` neighbouring rows of the
// history in registers at a time. So a warp reads 128 neighbouring bytes of a row, and a block has all its loads of
// slices * rows = 256 rows under way at once; one thread a tensor waited 1,024 times for memory, one row after the
// other.
constexpr int columns = 32, slices = 32, rows = 8;

/// The rows [begin, begin + slices * rows) of a tensor's history become those before them. `carried` has each slice's
/// last value for the one behind it, and carried[0] the row before `begin`; returns the largest new value of this
/// thread.
__device__ float roll(float* __restrict__ history, std::int64_t begin, const DelayedScales& args, bool writes,
                      float (*carried)[columns]) {
  const int slice = static_cast<int>(threadIdx.y), column = static_cast<int>(threadIdx.x);
  const std::int64_t first = begin + slice * rows;
  float old[rows];
#pragma unroll
  for (int r = 0; r < rows; ++r) old[r] = writes && first + r < args.length ? history[(first + r) * args.n] : 0.0f;
  carried[slice + 1][column] = old[rows - 1];
  __syncthreads();
  float next = carried[slice][column], largest = 0.0f;
  __syncthreads();
  if (slice == slices - 1) carried[0][column] = old[rows - 1];
#pragma unroll
  for (int r = 0; r < rows; ++r) {
    if (writes && first + r < args.length) {
      history[(first + r) * args.n] = next;
      largest = fmaxf(largest, next);
    }
    next = old[r];
  }
  return largest;
}

__global__ void __launch_bounds__(columns* slices)
    delayed_scales_kernel(DelayedScales args, float highest_e4m3, float highest_e5m2) {
  __shared__ float carried[slices + 1][columns], of_slice[slices][columns];
  const int slice = static_cast<int>(threadIdx.y), column = static_cast<int>(threadIdx.x);
  const std::int64_t i = std::int64_t{blockIdx.x} * columns + column;
  const float newest = i < args.n ? args.recorded[i] : 0.0f;
  const bool counts = newest > 0.0f && newest < INFINITY;
  if (slice == 0) carried[0][column] = newest;
  float largest = 0.0f;
  for (std::int64_t begin = 0; begin < args.length; begin += slices * rows) {
    largest = fmaxf(largest, roll(args.history + i, begin, args, counts, carried));
  }
  of_slice[slice][column] = largest;
  __syncthreads();
  if (slice > 0 || i >= args.n) return;
  float scale = args.first ? 1.0f : args.scale[i];
  if (counts) {
    for (int s = 1; s < slices; ++s) largest = fmaxf(largest, of_slice[s][column]);
    const float highest = i < args.e5m2_from ? highest_e4m3 : highest_e5m2;
    scale = fminf(__fdiv_rn(highest, args.most_recent ? newest : largest), FLT_MAX);
    if (args.power_of_two) scale = power_below(scale);
  }
  args.recorded[i] = 0.0f;
  args.scale[i] = scale;
  args.inverse_scale[i * inverse_scale_stride] = __fdiv_rn(1.0f, scale);
}

unsigned blocks_of(std::int64_t n, int of) {
  return static_cast<unsigned>(ceil_div(n, of));
}

}  // namespace

void record_amax(Stream& stream, const RecordAmax& args) {
  if (args.n == 0) return;
  record_amax_kernel<<<blocks_of(args.n, threads), threads, 0, native(stream)>>>(args.amax, args.recorded, args.n);
  check_launch("record_amax");
}

void delayed_scales(Stream& stream, const DelayedScales& args) {
  if (args.n == 0) return;
  const auto highest = [&](DType format) { return std::ldexp(static_cast<float>(float8_max(format)), -args.margin); };
  delayed_scales_kernel<<<blocks_of(args.n, columns), dim3(columns, slices), 0, native(stream)>>>(
      args, highest(DType::e4m3), highest(DType::e5m2));
  check_launch("delayed_scales");
}

}  // namespace octet::cuda
