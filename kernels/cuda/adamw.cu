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

/// The threads of a block where an update may take few multiprocessors (AdamWUpdate::multiprocessors). Such a block
/// takes a multiprocessor whole: its registers leave none for a block of a GEMM. So the blocks lie on as many
/// multiprocessors as they are, and the GEMMs have the others whole. Blocks of 256 threads would lie on all, one or two
/// on each, and no GEMM would have room anywhere. Where there are clusters the blocks go in pairs: those of a GEMM want
/// their multiprocessors together in one of a GPU's clusters of multiprocessors (GPC), of which single blocks might
/// leave each an odd number.
constexpr int threads_beside = 1024;
constexpr unsigned blocks_together = 2;

/// Says whether there is a variant without the division. On Blackwell it would need more than 64 registers a thread;
/// the division by 1 that stays there gives the same bits.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000
constexpr bool division_is_left_out = false;
#else
constexpr bool division_is_left_out = true;
#endif

/// What a kernel is told of an update beside the scalars that all have.
struct Slice {
  float *parameter, *first_moment, *second_moment;
  const void* gradient;
  float* amax;
  std::int64_t n, packs;  ///< elements; of them, in fours that lie on 16 bytes
  float decay;

  explicit Slice(const AdamWUpdate& u);
  Slice() = default;
};

struct Common {
  AdamWFactors by;
  const float* gradient_scale;
  const std::uint32_t* skip;

  __device__ __forceinline__ bool skips() const { return skip != nullptr && *skip != 0; }
  __device__ __forceinline__ float scale() const { return gradient_scale == nullptr ? 1.0f : *gradient_scale; }
};

struct Slices {
  Slice all[AdamWUpdates::most];
  int count;
};

/// What a thread reads of four neighbouring elements; gradients are stored as G.
template <typename G>
struct Elements {
  Chunk<G, 4> gradient;
  Chunk<float, 4> first, second, parameter;
};

template <typename G, bool full>
__device__ __forceinline__ Elements<G> read_elements(const Slice& slice, std::int64_t at, int count) {
  return {.gradient = read<full, 4>(static_cast<const G*>(slice.gradient) + at, count),
          .first = read<full, 4>(slice.first_moment + at, count),
          .second = read<full, 4>(slice.second_moment + at, count),
          .parameter = read<full, 4>(slice.parameter + at, count)};
}

/// The arithmetic is the CPU's, operation by operation: nothing is contracted (--fmad=false), divisions and square
/// roots are rounded correctly. `unbiased`: root_bias2 is 1, by which nothing need be divided.
template <typename G, bool full, bool unbiased>
__device__ __forceinline__ void update(const Slice& slice, const AdamWFactors& by, float gradient_scale, Elements<G>& e,
                                       std::int64_t at, int count, StatsFold& fold) {
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    const float g = to_float(e.gradient.v[j]) * gradient_scale;
    const float m = e.first.v[j] + by.first * (g - e.first.v[j]);
    const float v = e.second.v[j] * by.beta2 + by.second * g * g;
    const float p = e.parameter.v[j];
    e.first.v[j] = m;
    e.second.v[j] = v;
    if constexpr (unbiased && division_is_left_out) {
      e.parameter.v[j] = p * slice.decay - by.step * m / (sqrtf(v) + by.eps);
    } else {
      e.parameter.v[j] = p * slice.decay - by.step * m / (sqrtf(v) / by.root_bias2 + by.eps);
    }
    if (full || j < count) fold.raise(e.parameter.v[j]);  // beyond the end even a zero may become NaN (eps = 0)
  }
  write<full>(slice.first_moment + at, e.first, count);
  write<full>(slice.second_moment + at, e.second, count);
  write<full>(slice.parameter + at, e.parameter, count);
}

/// A skipped step changes nothing: it only measures the parameter's abs-max.
__device__ __forceinline__ void measure(const Slice& slice) {
  if (slice.amax == nullptr) return;
  StatsFold fold;
  for_packs<4>(slice.n, slice.packs, [&](auto full, std::int64_t at, int count) {
    const Chunk<float, 4> parameter = read<full, 4>(slice.parameter + at, count);
#pragma unroll
    for (int j = 0; j < 4; ++j) fold.raise(parameter.v[j]);
  });
  fold.publish({.amax = slice.amax, .non_finite = nullptr});
}

/// Reads 16 bytes an element, 14 with a gradient in bf16, and writes 12; four elements a thread at a time, or `at_once`
/// times four, all of which are read before the first is computed: 64 bytes a thread under way, or 128.
/// `now`: returns the slice.
template <typename G, int block_threads, int at_once, bool unbiased, typename SliceNow>
__device__ __forceinline__ void update_slice(const Slice& slice, const SliceNow& now, const AdamWFactors& by,
                                             float gradient_scale) {
  StatsFold fold;
  unsigned done = 0;  // packs, in whole rounds of the grid; of more than 2^32 for_packs does the rest
  if constexpr (at_once > 1) {
    const unsigned stride = gridDim.x * block_threads, thread = blockIdx.x * block_threads + threadIdx.x;
#pragma unroll 1
    for (const auto packs = static_cast<unsigned>(slice.packs); packs - done >= at_once * stride;
         done += at_once * stride) {
      Elements<G> elements[at_once];
#pragma unroll
      for (int k = 0; k < at_once; ++k) {
        elements[k] = read_elements<G, true>(now(), std::int64_t{done + k * stride + thread} * 4, 4);
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
        update<G, true, unbiased>(now(), by, gradient_scale, elements[k], std::int64_t{done + k * stride + thread} * 4,
                                  4, fold);
      }
    }
  }
  for_packs<4>(slice.n - std::int64_t{done} * 4, slice.packs - done,
               [&](auto full, std::int64_t from_there, int count) {
                 const std::int64_t at = std::int64_t{done} * 4 + from_there;
                 Elements<G> elements = read_elements<G, full>(slice, at, count);
                 update<G, full, unbiased>(slice, by, gradient_scale, elements, at, count, fold);
               });
  fold.publish({.amax = slice.amax, .non_finite = nullptr});
}

template <typename G>
__global__ void __launch_bounds__(threads) adamw_kernel(Slice slice, Common common) {
  if (common.skips()) return measure(slice);
  update_slice<G, threads, 1, false>(
      slice, [&]() -> const Slice& { return slice; }, common.by, common.scale());
}

/// One after the other, as launches of each would be. By its arithmetic few multiprocessors are slower than by their
/// bytes, so that a division less is worth a kernel of its own: 1 - beta2^step is 1 in fp32 from step 325 on for a
/// beta2 of 0.95.
template <typename G, bool unbiased>
__global__ void __launch_bounds__(threads_beside)
    adamw_beside_kernel(const __grid_constant__ Slices slices, const __grid_constant__ Common common) {
  const bool skips = common.skips();
  const float gradient_scale = common.scale();
#pragma unroll 1
  for (int i = 0; i < slices.count; ++i) {
    if (skips) {
      measure(slices.all[i]);
    } else {
      // Anew whenever it is asked for: its pointers, held in registers through the loop, would spill.
      const auto now = [&]() -> const Slice& {
        int at = i;
        asm volatile("" : "+r"(at));
        return slices.all[at];
      };
      update_slice<G, threads_beside, 2, unbiased>(slices.all[i], now, common.by, gradient_scale);
    }
  }
}

Slice::Slice(const AdamWUpdate& u)
    : parameter(u.parameter),
      first_moment(u.first_moment),
      second_moment(u.second_moment),
      gradient(u.gradient),
      amax(u.stats.amax),
      n(u.n),
      decay(factors_of(u).decay) {
  const bool wide =
      aligned(16, parameter, first_moment, second_moment) &&
      aligned(static_cast<std::uintptr_t>(4 * size_of(u.gradient_dtype)), static_cast<const char*>(gradient));
  packs = wide ? n / 4 : 0;
}

void launch_each(Stream& stream, const AdamWUpdates& args, const Common& common) {
  for (const AdamWUpdate& u : args.all()) {
    if (u.n == 0) continue;
    dispatch_storage(u.gradient_dtype, [&]<typename G>(G) {
      adamw_kernel<G><<<blocks_for(u.n, threads * 4), threads, 0, native(stream)>>>(Slice(u), common);
    });
    check_launch("adamw");
  }
}

/// A launch for all gradients of a dtype.
void launch_beside(Stream& stream, const AdamWUpdates& args, const Common& common, DType gradients) {
  Slices slices{};
  std::int64_t most = 0;
  for (const AdamWUpdate& u : args.all()) {
    if (u.n == 0 || u.gradient_dtype != gradients) continue;
    slices.all[slices.count++] = Slice(u);
    most = std::max(most, u.n);
  }
  if (most == 0) return;
  auto blocks = static_cast<unsigned>(
      std::min<std::int64_t>(args.updates[0].multiprocessors, ceil_div(most, threads_beside * 4)));
  const bool pairs = blocks >= blocks_together && has_clusters();
  if (pairs) blocks -= blocks % blocks_together;
  dispatch_storage(gradients, [&]<typename G>(G) {
    const auto kernel = common.by.root_bias2 == 1.0f ? adamw_beside_kernel<G, true> : adamw_beside_kernel<G, false>;
    if (pairs) {
      const ClusterShape pair{.blocks = blocks_together, .threads = threads_beside, .shared = 0};
      launch_clusters(kernel, pair, blocks / blocks_together, native(stream), slices, common);
    } else {
      kernel<<<blocks, threads_beside, 0, native(stream)>>>(slices, common);
    }
  });
  check_launch("adamw");
}

}  // namespace

void adamw(Stream& stream, const AdamWUpdates& args) {
  if (args.count == 0) return;
  const AdamWUpdate& first = args.updates[0];
  const Common common{factors_of(first), first.gradient_scale, first.skip};
  if (first.multiprocessors == 0) return launch_each(stream, args, common);
  for (const DType gradients : {DType::f32, DType::bf16}) launch_beside(stream, args, common, gradients);
}

}  // namespace octet::cuda
