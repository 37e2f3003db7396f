#include "kernels/adamw.h"

#include <algorithm>

#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/device/cluster.cuh"
#include "kernels/cuda/host/launch.h"
#include "kernels/cuda/update/adamw_update.cuh"

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

struct AdamWSlices {
  AdamWSlice all[AdamWUpdates::most];
  int count;
};

/// A skipped step changes nothing: it only measures the parameter's abs-max, and casts it.
__device__ __forceinline__ void measure(const AdamWSlice& slice) {
  if (slice.amax == nullptr && slice.codes == nullptr) return;
  StatsFold fold;
  for_packs<4>(slice.n, slice.packs, [&](auto full, std::int64_t at, int count) {
    const Chunk<float, 4> parameter = read<full, 4>(slice.parameter + at, count);
#pragma unroll
    for (int j = 0; j < 4; ++j) fold.raise(parameter.v[j]);
    write_codes_of<full>(slice, parameter, at, count);
  });
  fold.publish({.amax = slice.amax, .non_finite = nullptr});
}

/// Reads 16 bytes an element, 14 with a gradient in bf16, and writes 12, and 2 or 1 where the parameter goes in bf16 or
/// e4m3 too; four elements a thread at a time, or `at_once` times four, all of which are read before the first is
/// computed: 64 bytes a thread under way, or 128. `now`: returns the slice.
template <typename G, int block_threads, int at_once, typename SliceNow>
__device__ __forceinline__ void update_slice(const AdamWSlice& slice, const SliceNow& now,
                                             const AdamWScalars& scalars) {
  const float gradient_scale = scalars.scale(), over_root_bias2 = usual_reciprocal(scalars.by.root_bias2);
  StatsFold fold;
  unsigned done = 0;  // packs, in whole rounds of the grid; of more than 2^32 for_packs does the rest
  if constexpr (at_once > 1) {
    const unsigned stride = gridDim.x * block_threads, thread = blockIdx.x * block_threads + threadIdx.x;
#pragma unroll 1
    for (const auto packs = static_cast<unsigned>(slice.packs); packs - done >= at_once * stride;
         done += at_once * stride) {
      AdamWElements<G> elements[at_once];
#pragma unroll
      for (int k = 0; k < at_once; ++k) {
        elements[k] = read_elements<G, true>(now(), std::int64_t{done + k * stride + thread} * 4, 4);
      }
#pragma unroll
      for (AdamWElements<G>& e : elements) {
        keep_here(e.gradient);
        keep_here(e.first);
        keep_here(e.second);
        keep_here(e.parameter);
      }
#pragma unroll
      for (int k = 0; k < at_once; ++k) {
        update_elements<G, true>(now(), scalars, gradient_scale, over_root_bias2, elements[k],
                                 std::int64_t{done + k * stride + thread} * 4, 4, fold);
      }
    }
  }
  // What is left after those rounds is less than one of them, and is not worth the registers of two at once.
  for_packs<4, at_once == 1 ? 2 : 1>(
      slice.n - std::int64_t{done} * 4, slice.packs - done, [&](auto full, std::int64_t from_there, int count) {
        const std::int64_t at = std::int64_t{done} * 4 + from_there;
        AdamWElements<G> elements = read_elements<G, full>(slice, at, count);
        update_elements<G, full>(slice, scalars, gradient_scale, over_root_bias2, elements, at, count, fold);
      });
  fold.publish({.amax = slice.amax, .non_finite = nullptr});
}

template <typename G>
__global__ void __launch_bounds__(threads) adamw_kernel(AdamWSlice slice, AdamWScalars scalars) {
  if (scalars.skips()) return measure(slice);
  update_slice<G, threads, 1>(
      slice, [&]() -> const AdamWSlice& { return slice; }, scalars);
}

/// One after the other, as launches of each would be.
template <typename G>
__global__ void __launch_bounds__(threads_beside)
    adamw_beside_kernel(const __grid_constant__ AdamWSlices slices, const __grid_constant__ AdamWScalars scalars) {
  const bool skips = scalars.skips();
#pragma unroll 1
  for (int i = 0; i < slices.count; ++i) {
    if (skips) {
      measure(slices.all[i]);
    } else {
      // Anew whenever it is asked for: its pointers, held in registers through the loop, would spill.
      const auto now = [&]() -> const AdamWSlice& {
        int at = i;
        asm volatile("" : "+r"(at));
        return slices.all[at];
      };
      update_slice<G, threads_beside, 2>(slices.all[i], now, scalars);
    }
  }
}

void launch_each(Stream& stream, const AdamWUpdates& args, const AdamWScalars& scalars) {
  for (const AdamWUpdate& u : args.all()) {
    if (u.n == 0) continue;
    dispatch_storage(u.gradient_dtype, [&]<typename G>(G) {
      adamw_kernel<G><<<blocks_for(u.n, threads * 4), threads, 0, native(stream)>>>(AdamWSlice(u), scalars);
    });
    check_launch("adamw");
  }
}

/// A launch for all gradients of a dtype.
void launch_beside(Stream& stream, const AdamWUpdates& args, const AdamWScalars& scalars, DType gradients) {
  AdamWSlices slices{};
  std::int64_t most = 0;
  for (const AdamWUpdate& u : args.all()) {
    if (u.n == 0 || u.gradient_dtype != gradients) continue;
    slices.all[slices.count++] = AdamWSlice(u);
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
      launch_clusters(kernel, pair, blocks / blocks_together, native(stream), slices, scalars);
    } else {
      kernel<<<blocks, threads_beside, 0, native(stream)>>>(slices, scalars);
    }
  });
  check_launch("adamw");
}

}  // namespace

void adamw(Stream& stream, const AdamWUpdates& args) {
  if (args.count == 0) return;
  const AdamWUpdate& first = args.updates[0];
  const AdamWScalars scalars = scalars_of(first);
  if (first.multiprocessors == 0) return launch_each(stream, args, scalars);
  for (const DType gradients : {DType::f32, DType::bf16}) launch_beside(stream, args, scalars, gradients);
}

}  // namespace octet::cuda
