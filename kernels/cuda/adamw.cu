#include "kernels/adamw.h"

#include <cmath>

#include "kernels/cuda/cluster.cuh"
#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/packs.cuh"
#include "kernels/cuda/stats_fold.cuh"

namespace octet::cuda {
namespace {

constexpr int threads = 256;

/// Of an update that has few multiprocessors (AdamWUpdate::multiprocessors). A block of it takes a multiprocessor
/// whole: its registers leave none for a block of a GEMM. So the blocks lie on as many multiprocessors as they are, and
/// the GEMMs have the others whole. Blocks of 256 threads would lie on all, one or two on each, and no GEMM would have
/// room anywhere. Where there are clusters the blocks go in pairs: those of a GEMM want their multiprocessors together
/// in one of a GPU's clusters of multiprocessors (GPC), of which single blocks might leave each an odd number.
constexpr int threads_beside = 1024;
constexpr unsigned blocks_together = 2;

/// What a thread reads of four neighbouring elements; gradients are stored as G.
template <typename G>
struct Elements {
  Chunk<G, 4> gradient;
  Chunk<float, 4> first, second, parameter;
};

template <typename G, bool full>
__device__ __forceinline__ Elements<G> read_elements(const AdamWUpdate& args, std::int64_t at, int count) {
  return {.gradient = read<full, 4>(static_cast<const G*>(args.gradient) + at, count),
          .first = read<full, 4>(args.first_moment + at, count),
          .second = read<full, 4>(args.second_moment + at, count),
          .parameter = read<full, 4>(args.parameter + at, count)};
}

/// What was read stands in registers here, as far as the compiler knows: it moves no read behind the arithmetic.
template <typename T>
__device__ __forceinline__ void keep_here(Chunk<T, 4>& chunk) {
  unsigned words[sizeof(chunk) / 4];
  std::memcpy(words, static_cast<const void*>(&chunk), sizeof(chunk));
#pragma unroll
  for (unsigned& word : words) asm volatile("" : "+r"(word));
  std::memcpy(static_cast<void*>(&chunk), words, sizeof(chunk));
}

/// The arithmetic is the CPU's, operation by operation: nothing is contracted (--fmad=false), divisions and square
/// roots are rounded correctly.
template <typename G, bool full>
__device__ __forceinline__ void update(const AdamWUpdate& args, const AdamWFactors& by, float gradient_scale,
                                       Elements<G>& e, std::int64_t at, int count, StatsFold& fold) {
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    const float g = to_float(e.gradient.v[j]) * gradient_scale;
    const float m = e.first.v[j] + by.first * (g - e.first.v[j]);
    const float v = e.second.v[j] * by.beta2 + by.second * g * g;
    const float p = e.parameter.v[j];
    e.first.v[j] = m;
    e.second.v[j] = v;
    e.parameter.v[j] = p * by.decay - by.step * m / (sqrtf(v) / by.root_bias2 + by.eps);
    if (full || j < count) fold.raise(e.parameter.v[j]);  // beyond the end even a zero may become NaN (eps = 0)
  }
  write<full>(args.first_moment + at, e.first, count);
  write<full>(args.second_moment + at, e.second, count);
  write<full>(args.parameter + at, e.parameter, count);
}

/// Reads 16 bytes an element, 14 with a gradient in bf16, and writes 12, of a skipped step 4 or nothing; four elements
/// a thread at a time, or `at_once` times four, all of which are read before the first is computed: 64 bytes a thread
/// under way, or 128.
template <typename G, int block_threads, int at_once>
__global__ void __launch_bounds__(block_threads) adamw_kernel(AdamWUpdate args, AdamWFactors by, std::int64_t packs) {
  StatsFold fold;
  if (args.skip != nullptr && *args.skip != 0) {
    if (args.stats.amax == nullptr) return;
    for_packs<4>(args.n, packs, [&](auto full, std::int64_t at, int count) {
      const Chunk<float, 4> parameter = read<full, 4>(args.parameter + at, count);
#pragma unroll
      for (int j = 0; j < 4; ++j) fold.raise(parameter.v[j]);
    });
    fold.publish({.amax = args.stats.amax, .non_finite = nullptr});
    return;
  }
  const float gradient_scale = args.gradient_scale == nullptr ? 1.0f : *args.gradient_scale;
  std::int64_t done = 0;  // packs, in whole rounds of the grid
  if constexpr (at_once > 1) {
    const std::int64_t stride = std::int64_t{gridDim.x} * block_threads;
    const std::int64_t thread = std::int64_t{blockIdx.x} * block_threads + threadIdx.x;
#pragma unroll 1
    for (; done + at_once * stride <= packs; done += at_once * stride) {
      Elements<G> elements[at_once];
#pragma unroll
      for (int k = 0; k < at_once; ++k) {
        elements[k] = read_elements<G, true>(args, (done + k * stride + thread) * 4, 4);
      }
#pragma unroll
      for (Elements<G>& e : elements) {
        keep_here(e.gradient);
        keep_here(e.first);
        keep_here(e.second);
        keep_here(e.parameter);
      }
#pragma unroll
      for (int k = 0; k < at_once; ++k) {
        update<G, true>(args, by, gradient_scale, elements[k], (done + k * stride + thread) * 4, 4, fold);
      }
    }
  }
  for_packs<4>(args.n - done * 4, packs - done, [&](auto full, std::int64_t from_there, int count) {
    const std::int64_t at = done * 4 + from_there;
    Elements<G> elements = read_elements<G, full>(args, at, count);
    update<G, full>(args, by, gradient_scale, elements, at, count, fold);
  });
  fold.publish({.amax = args.stats.amax, .non_finite = nullptr});
}

}  // namespace

void adamw(Stream& stream, const AdamWUpdate& args) {
  if (args.n == 0) return;
  dispatch_storage(args.gradient_dtype, [&]<typename G>(G) {
    const bool wide = aligned(16, args.parameter, args.first_moment, args.second_moment) &&
                      aligned(4 * sizeof(G), static_cast<const G*>(args.gradient));
    const std::int64_t packs = wide ? args.n / 4 : 0;
    if (args.multiprocessors == 0) {
      adamw_kernel<G, threads, 1>
          <<<blocks_for(args.n, threads * 4), threads, 0, native(stream)>>>(args, factors_of(args), packs);
    } else {
      const auto blocks =
          static_cast<unsigned>(std::min<std::int64_t>(args.multiprocessors, ceil_div(args.n, threads_beside * 4)));
      const auto kernel = adamw_kernel<G, threads_beside, 2>;
      if (blocks % blocks_together == 0 && has_clusters()) {
        const ClusterShape pair{.blocks = blocks_together, .threads = threads_beside, .shared = 0};
        launch_clusters(kernel, pair, blocks / blocks_together, native(stream), args, factors_of(args), packs);
      } else {
        kernel<<<blocks, threads_beside, 0, native(stream)>>>(args, factors_of(args), packs);
      }
    }
    check_launch("adamw");
  });
}

}  // namespace octet::cuda
