#include "kernels/adamw.h"

#include <cmath>

#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/packs.cuh"
#include "kernels/cuda/stats_fold.cuh"

namespace octet::cuda {
namespace {

constexpr int threads = 256;

/// Reads 16 bytes an element, 14 with a gradient in bf16, and writes 12, of a skipped step 4 or nothing; four elements
/// a thread. The arithmetic is the CPU's, operation by operation: nothing is contracted (--fmad=false), divisions and
/// square roots are rounded correctly.
template <typename G>
__global__ void __launch_bounds__(threads) adamw_kernel(AdamWUpdate args, AdamWFactors by, std::int64_t packs) {
  StatsFold fold;
  if (args.skip != nullptr && *args.skip != 0) {
    if (args.stats.amax == nullptr) return;
    for_packs<4>(args.n, packs, [&](auto full, std::int64_t at, int count) {
      const Chunk<float, 4> parameter = read<full, 4>(args.parameter + at, count);
#pragma unroll
      for (int j = 0; j < 4; ++j) fold.add(parameter.v[j]);
    });
    fold.publish({.amax = args.stats.amax, .non_finite = nullptr});
    return;
  }
  const float gradient_scale = args.gradient_scale == nullptr ? 1.0f : *args.gradient_scale;
  for_packs<4>(args.n, packs, [&](auto full, std::int64_t at, int count) {
    const Chunk<G, 4> gradient = read<full, 4>(static_cast<const G*>(args.gradient) + at, count);
    Chunk<float, 4> first = read<full, 4>(args.first_moment + at, count);
    Chunk<float, 4> second = read<full, 4>(args.second_moment + at, count);
    Chunk<float, 4> parameter = read<full, 4>(args.parameter + at, count);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const float g = to_float(gradient.v[j]) * gradient_scale;
      const float m = first.v[j] + by.first * (g - first.v[j]);
      const float v = second.v[j] * by.beta2 + by.second * g * g;
      const float p = parameter.v[j];
      first.v[j] = m;
      second.v[j] = v;
      parameter.v[j] = p * by.decay - by.step * m / (sqrtf(v) / by.root_bias2 + by.eps);
      if (full || j < count) fold.add(parameter.v[j]);  // beyond the end even a zero may become NaN (eps = 0)
    }
    write<full>(args.first_moment + at, first, count);
    write<full>(args.second_moment + at, second, count);
    write<full>(args.parameter + at, parameter, count);
  });
  fold.publish({.amax = args.stats.amax, .non_finite = nullptr});
}

}  // namespace

void adamw(Stream& stream, const AdamWUpdate& args) {
  if (args.n == 0) return;
  dispatch_storage(args.gradient_dtype, [&]<typename G>(G) {
    const bool wide = aligned(16, args.parameter, args.first_moment, args.second_moment) &&
                      aligned(4 * sizeof(G), static_cast<const G*>(args.gradient));
    adamw_kernel<G><<<blocks_for(args.n, threads * 4), threads, 0, native(stream)>>>(args, factors_of(args),
                                                                                     wide ? args.n / 4 : 0);
    check_launch("adamw");
  });
}

}  // namespace octet::cuda
