#include "kernels/reduce.h"

#include <cstddef>

#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/device/instructions.cuh"
#include "kernels/cuda/device/packs.cuh"
#include "kernels/cuda/device/stats_fold.cuh"
#include "kernels/cuda/host/launch.h"

namespace octet::cuda {
namespace {

constexpr int threads = 256;
/// Elements of a block of sum_of_squares, at least: enough that a block's end costs little beside its reading.
constexpr std::int64_t block_elements = threads * 4 * 4;

/// Sum over the block, in thread 0; always in the same order. All `width` threads of the block call it, a second time
/// behind a barrier.
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

/// *out = sum of x, by one block: for a few thousand numbers, such as losses.
template <int width>
__global__ void __launch_bounds__(width)
    sum_kernel(const float* __restrict__ x, std::int64_t n, float* __restrict__ out) {
  double sum = 0;
#pragma unroll 8
  for (std::int64_t i = threadIdx.x; i < n; i += width) sum += static_cast<double>(x[i]);
  sum = block_sum<width>(sum);
  if (threadIdx.x == 0) *out = static_cast<float>(sum);
}

/// What the blocks of a sum leave for the one that ends last, which makes the whole of it: no second launch.
struct BlockSums {
  unsigned ended;  ///< blocks; zero before the launch and after it
  double of_block[1];
};

/// Whether this block is the last of the grid to get here; what all blocks have written to `sums` can then be read past
/// the L1 cache. Thread 0 of each block must have written its own sum before. All threads call it. The atomic has the
/// memory order that two fences around it would make (the block's sum is there before it is counted, and none is read
/// before all are counted), half a us earlier.
__device__ __forceinline__ bool is_last(BlockSums* sums) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    last = count_up_to(&sums->ended, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  return last;
}

/// Packs that a thread reads before it adds the first. for_packs tests for the end between any two reads, so that a
/// thread has one under way: 16 bytes of fp32 are enough, the 8 of a pack in bf16 are not.
template <typename X>
constexpr int reads_at_once = 1;
template <>
constexpr int reads_at_once<__nv_bfloat16> = 4;

/// Reads n elements. Without `sums` there is one block only. Which thread adds what, and in which order, does not
/// depend on the dtype nor on how many packs are read at once: a thread has the same packs, added as they follow.
template <typename X>
__global__ void __launch_bounds__(threads)
    squares_kernel(const X* __restrict__ x, std::int64_t n, std::int64_t packs, BlockSums* sums,
                   float* __restrict__ out, std::uint32_t* non_finite) {
  constexpr int at_once = reads_at_once<X>;
  double squares[4] = {0, 0, 0, 0};
  StatsFold fold;
  const auto add = [&](const Chunk<X, 4>& pack) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const float value = to_float(pack.v[j]);
      const double v = static_cast<double>(value);
      squares[j] += v * v;
      fold.add(value);
    }
  };
  std::int64_t done = 0;  // packs, in whole rounds of the grid
  if constexpr (at_once > 1) {
    const std::int64_t stride = std::int64_t{gridDim.x} * threads;
    const std::int64_t thread = std::int64_t{blockIdx.x} * threads + threadIdx.x;
#pragma unroll 1
    for (; done + at_once * stride <= packs; done += at_once * stride) {
      Chunk<X, 4> in[at_once];
#pragma unroll
      for (int k = 0; k < at_once; ++k) in[k] = read<true, 4>(x + (done + k * stride + thread) * 4, 4);
#pragma unroll
      for (Chunk<X, 4>& pack : in) keep_here(pack);
#pragma unroll
      for (const Chunk<X, 4>& pack : in) add(pack);
    }
  }
  for_packs<4>(n - done * 4, packs - done, [&](auto full, std::int64_t from_there, int count) {
    add(read<full, 4>(x + done * 4 + from_there, count));
  });
  fold.publish({.amax = nullptr, .non_finite = non_finite});
  double sum = block_sum<threads>((squares[0] + squares[1]) + (squares[2] + squares[3]));
  if (sums != nullptr) {
    if (threadIdx.x == 0) sums->of_block[blockIdx.x] = sum;
    if (!is_last(sums)) return;
    sum = 0;
#pragma unroll 4
    for (unsigned i = threadIdx.x; i < gridDim.x; i += threads) sum += __ldcg(sums->of_block + i);
    sum = block_sum<threads>(sum);
  }
  if (threadIdx.x == 0) *out = static_cast<float>(sum);
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
  return blocks == 1 ? 0 : static_cast<std::int64_t>(offsetof(BlockSums, of_block) + blocks * sizeof(double));
}

void sum_of_squares(Stream& stream, const SumOfSquares& args) {
  const unsigned blocks = blocks_for(args.n, block_elements);
  auto* sums = blocks == 1 ? nullptr : static_cast<BlockSums*>(args.workspace);
  if (blocks > 1 && sums == nullptr) throw internal_error("kernels", "sum_of_squares: no workspace");
  dispatch_storage(args.dtype, [&]<typename X>(X) {
    const auto* x = static_cast<const X*>(args.x);
    squares_kernel<X><<<blocks, threads, 0, native(stream)>>>(x, args.n, aligned(4 * sizeof(X), x) ? args.n / 4 : 0,
                                                              sums, args.out, args.non_finite);
    check_launch("sum_of_squares");
  });
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
