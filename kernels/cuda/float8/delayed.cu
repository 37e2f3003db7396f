#include "kernels/delayed.h"

#include <cfloat>
#include <cmath>

#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/device/scale.cuh"
#include "kernels/cuda/host/launch.h"

namespace octet::cuda {
namespace {

constexpr int threads = 128;

__global__ void record_amax_kernel(const float* __restrict__ amax, float* __restrict__ recorded, std::int64_t n) {
  const std::int64_t i = std::int64_t{blockIdx.x} * threads + threadIdx.x;
  if (i >= n) return;
  const float value = amax[i];
  if (value > recorded[i] || isnan(value)) recorded[i] = value;
}

// A block has `columns` tensors, 32 bytes of a row, which is the least that memory gives; and for each of them
// `slices` threads, which have `rows` neighbouring rows of the history in registers at a time. So all 1024 rows of 576
// tensors are under way at once, on 72 multiprocessors: 5.1 us with record_amax on an H100, where blocks of 32 tensors
// by 256 rows, on 18, took 11.9.
constexpr int columns = 8, slices = 128, rows = 8, warps = columns * slices / 32;

/// Whether a recorded abs-max says something.
__device__ bool counts(float newest) {
  return newest > 0.0f && newest < INFINITY;
}

/// The rows [begin, begin + slices * rows) of a tensor's history become those before them. `carried` has each slice's
/// last value for the one behind it, and carried[0] the row before `begin`; `newest`: what is put before the first
/// row. Returns the largest new value of this thread. Rows are read before it is known whether they are written, which
/// hangs on a load of its own.
__device__ float roll(const DelayedScales& args, std::int64_t i, std::int64_t begin, float newest,
                      float (*carried)[columns]) {
  const int slice = static_cast<int>(threadIdx.y), column = static_cast<int>(threadIdx.x);
  const std::int64_t first = begin + slice * rows;
  float* history = args.history + i;
  float old[rows];
#pragma unroll
  for (int r = 0; r < rows; ++r) old[r] = i < args.n && first + r < args.length ? history[(first + r) * args.n] : 0.0f;
  if (begin == 0 && slice == 0) carried[0][column] = newest;
  carried[slice + 1][column] = old[rows - 1];
  __syncthreads();
  float next = carried[slice][column], largest = 0.0f;
  __syncthreads();
  if (slice == slices - 1) carried[0][column] = old[rows - 1];
  const bool writes = counts(newest);
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
  __shared__ float carried[slices + 1][columns], of_warp[warps][columns];
  const int slice = static_cast<int>(threadIdx.y), column = static_cast<int>(threadIdx.x);
  const std::int64_t i = std::int64_t{blockIdx.x} * columns + column;
  const float newest = i < args.n ? args.recorded[i] : 0.0f;
  float scale = i < args.n && slice == 0 && !args.first ? args.scale[i] : 1.0f;
  float largest = 0.0f;
  for (std::int64_t begin = 0; begin < args.length; begin += slices * rows)
    largest = fmaxf(largest, roll(args, i, begin, newest, carried));
#pragma unroll
  for (int lanes = columns; lanes < 32; lanes *= 2) largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, lanes));
  if (slice % (32 / columns) == 0) of_warp[slice / (32 / columns)][column] = largest;
  __syncthreads();
  if (slice > 0 || i >= args.n) return;
  if (counts(newest)) {
#pragma unroll
    for (int w = 1; w < warps; ++w) largest = fmaxf(largest, of_warp[w][column]);
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
