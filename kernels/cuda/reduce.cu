#include "kernels/reduce.h"

#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/packs.cuh"
#include "kernels/cuda/stats_fold.cuh"

namespace octet::cuda {
namespace {

constexpr int threads = 256;
/// Elements of a block of sum_of_squares, at least: enough that a block's end costs little beside its reading.
constexpr std::int64_t block_elements = threads * 4 * 4;

/// Sum over the block, in thread 0; always in the same order. All `width` threads of the block call it, once a kernel.
template <int width>
__device__ __forceinline__ double block_sum(double value) {
  constexpr int warps = width / 32;
  static_assert(warps <= 32);
  __shared__ double of_warp[warps];
  const auto lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(~0u, value, offset);
  if (lane == 0) of_warp[warp] = value;
  __syncthreads();
  if (warp != 0) return 0.0;
  value = lane < warps ? of_warp[lane] : 0.0;
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(~0u, value, offset);
  return value;
}

/// *out = sum of x, by one block of `width` threads: for a few thousand numbers, such as losses or partial sums.
template <int width, typename T>
__global__ void __launch_bounds__(width) sum_kernel(const T* __restrict__ x, std::int64_t n, float* __restrict__ out) {
  double sum = 0;
#pragma unroll 8
  for (std::int64_t i = threadIdx.x; i < n; i += width) sum += static_cast<double>(x[i]);
  sum = block_sum<width>(sum);
  if (threadIdx.x == 0) *out = static_cast<float>(sum);
}

/// Reads 4 · n bytes. partial[block] = the block's sum of squares; without partial (one block only) it goes to *out.
__global__ void __launch_bounds__(threads)
    squares_kernel(const float* __restrict__ x, std::int64_t n, std::int64_t packs, double* __restrict__ partial,
                   float* __restrict__ out, std::uint32_t* non_finite) {
  double sums[4] = {0, 0, 0, 0};
  StatsFold fold;
  for_packs<4>(n, packs, [&](auto full, std::int64_t at, int count) {
    const Chunk<float, 4> in = read<full, 4>(x + at, count);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const double v = static_cast<double>(in.v[j]);
      sums[j] += v * v;
      fold.add(in.v[j]);
    }
  });
  fold.publish({.amax = nullptr, .non_finite = non_finite});
  const double sum = block_sum<threads>((sums[0] + sums[1]) + (sums[2] + sums[3]));
  if (threadIdx.x != 0) return;
  if (partial != nullptr) {
    partial[blockIdx.x] = sum;
  } else {
    *out = static_cast<float>(sum);
  }
}

/// Reads 8 and writes 4 bytes an element.
__global__ void __launch_bounds__(threads)
    accumulate_kernel(const float* __restrict__ x, float* __restrict__ y, std::int64_t n, std::int64_t packs) {
  for_packs<4>(n, packs, [&](auto full, std::int64_t at, int count) {
    const Chunk<float, 4> a = read<full, 4>(x + at, count);
    Chunk<float, 4> b = read<full, 4>(y + at, count);
#pragma unroll
    for (int j = 0; j < 4; ++j) b.v[j] += a.v[j];
    write<full>(y + at, b, count);
  });
}

__global__ void clip_factor_kernel(ClipFactor args) {
  const float norm = sqrtf(*args.sum_of_squares);
  const float wanted = args.max_norm / (norm + 1e-6f);
  *args.norm = norm;
  *args.factor = args.max_norm == 0.0f || !(wanted < 1.0f) ? 1.0f : wanted;
  if (!isfinite(norm)) *args.skip = 1;
}

}  // namespace

void sum(Stream& stream, const Sum& args) {
  constexpr int width = 1024;
  sum_kernel<width><<<1, width, 0, native(stream)>>>(args.x, args.n, args.out);
  check_launch("sum");
}

std::int64_t sum_of_squares_workspace(const SumOfSquares& args) {
  const unsigned blocks = blocks_for(args.n, block_elements);
  return blocks == 1 ? 0 : static_cast<std::int64_t>(blocks * sizeof(double));
}

void sum_of_squares(Stream& stream, const SumOfSquares& args) {
  const unsigned blocks = blocks_for(args.n, block_elements);
  auto* partial = blocks == 1 ? nullptr : static_cast<double*>(args.workspace);
  if (blocks > 1 && partial == nullptr) throw internal_error("kernels", "sum_of_squares: no workspace");
  squares_kernel<<<blocks, threads, 0, native(stream)>>>(args.x, args.n, aligned(16, args.x) ? args.n / 4 : 0, partial,
                                                         args.out, args.non_finite);
  check_launch("sum_of_squares");
  if (blocks == 1) return;
  sum_kernel<threads><<<1, threads, 0, native(stream)>>>(partial, std::int64_t{blocks}, args.out);
  check_launch("sum_of_squares: partial sums");
}

void accumulate(Stream& stream, const Accumulate& args) {
  if (args.n == 0) return;
  const std::int64_t packs = aligned(16, args.x, args.y) ? args.n / 4 : 0;
  accumulate_kernel<<<blocks_for(args.n, threads * 4), threads, 0, native(stream)>>>(args.x, args.y, args.n, packs);
  check_launch("accumulate");
}

void clip_factor(Stream& stream, const ClipFactor& args) {
  clip_factor_kernel<<<1, 1, 0, native(stream)>>>(args);
  check_launch("clip_factor");
}

}  // namespace octet::cuda
