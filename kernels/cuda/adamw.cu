#include "kernels/adamw.h"

#include <cmath>

#include "kernels/cuda/cluster.cuh"
#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/packs.cuh"
#include "kernels/cuda/ratios.cuh"
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
  float least;  ///< from which on a second moment is usual: see usual_range
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

/// What is divided, and the second moment below the root, are usual up to these. With a second moment from
/// Common::least on, roots and quotients are normal numbers then, far from where ratios.cuh would have to test them.
constexpr float most_second = 0x1p40f, least_first = 0x1p-80f, most_first = 0x1p60f;

/// The least of second moments that are usual; infinity, so that none is, by scalars that no training has.
float least_usual_second(const AdamWFactors& by) {
  return by.root_bias2 >= 0x1p-20f && by.root_bias2 <= 1 && by.eps <= 1 ? 0x1p-100f : INFINITY;
}

/// The arithmetic is the CPU's, operation by operation: nothing is contracted (--fmad=false), divisions and square
/// roots are rounded correctly. Four elements side by side: the compiler's own divisions and roots have a branch each,
/// so that one would wait for the other.
template <typename G, bool full>
__device__ __forceinline__ void update(const Slice& slice, const Common& common, float gradient_scale,
                                       float over_root_bias2, Elements<G>& e, std::int64_t at, int count,
                                       StatsFold& fold) {
  const AdamWFactors& by = common.by;
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
    usual = usual && v >= common.least && v < most_second && size >= least_first && size < most_first;
    change[j] = usual_quotient(above, usual_quotient(usual_root(v), by.root_bias2, over_root_bias2) + by.eps);
  }
  if (!usual) {
#pragma unroll
    for (int j = 0; j < 4; ++j) change[j] = by.step * e.first.v[j] / (sqrtf(e.second.v[j]) / by.root_bias2 + by.eps);
  }
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    e.parameter.v[j] = e.parameter.v[j] * slice.decay - change[j];
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
template <typename G, int block_threads, int at_once, typename SliceNow>
__device__ __forceinline__ void update_slice(const Slice& slice, const SliceNow& now, const Common& common) {
  const float gradient_scale = common.scale(), over_root_bias2 = usual_reciprocal(common.by.root_bias2);
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
        update<G, true>(now(), common, gradient_scale, over_root_bias2, elements[k],
                        std::int64_t{done + k * stride + thread} * 4, 4, fold);
      }
    }
  }
  for_packs<4>(slice.n - std::int64_t{done} * 4, slice.packs - done,
               [&](auto full, std::int64_t from_there, int count) {
                 const std::int64_t at = std::int64_t{done} * 4 + from_there;
                 Elements<G> elements = read_elements<G, full>(slice, at, count);
                 update<G, full>(slice, common, gradient_scale, over_root_bias2, elements, at, count, fold);
               });
  fold.publish({.amax = slice.amax, .non_finite = nullptr});
}

template <typename G>
__global__ void __launch_bounds__(threads) adamw_kernel(Slice slice, Common common) {
  if (common.skips()) return measure(slice);
  update_slice<G, threads, 1>(
      slice, [&]() -> const Slice& { return slice; }, common);
}

/// One after the other, as launches of each would be.
template <typename G>
__global__ void __launch_bounds__(threads_beside)
    adamw_beside_kernel(const __grid_constant__ Slices slices, const __grid_constant__ Common common) {
  const bool skips = common.skips();
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
      update_slice<G, threads_beside, 2>(slices.all[i], now, common);
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
    const auto kernel = adamw_beside_kernel<G>;
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
  const AdamWFactors by = factors_of(first);
  const Common common{by, least_usual_second(by), first.gradient_scale, first.skip};
  if (first.multiprocessors == 0) return launch_each(stream, args, common);
  for (const DType gradients : {DType::f32, DType::bf16}) launch_beside(stream, args, common, gradients);
}

}  // namespace octet::cuda
