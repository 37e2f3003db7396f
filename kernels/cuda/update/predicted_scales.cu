#include "kernels/predicted_scales.h"

#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/device/float8.cuh"
#include "kernels/cuda/device/scale.cuh"
#include "kernels/cuda/host/launch.h"
#include "kernels/cuda/update/adamw_update.cuh"

namespace octet::cuda {
namespace {

constexpr int threads = 256, threads_predicting = 32;
static_assert(AdamWUpdates::most <= threads_predicting);

struct Predicted {
  AdamWSlice slice;
  bool narrow;  ///< its gradient is bf16
  ScalePrediction to;
};

struct AllPredicted {
  Predicted all[AdamWUpdates::most];
  int count;
};

/// The element as the update will leave it.
template <typename G>
__device__ float next(const AdamWSlice& slice, const AdamWScalars& scalars, std::int64_t at) {
  AdamWElements<G> e = read_elements<G, false>(slice, at, 1);
  if (!scalars.skips()) advance(slice, scalars, scalars.scale(), usual_reciprocal(scalars.by.root_bias2), e);
  return e.parameter.v[0];
}

/// A thread an update; reads and writes a few bytes of each.
__global__ void __launch_bounds__(threads_predicting)
    predict_scales_kernel(const __grid_constant__ AllPredicted predicted,
                          const __grid_constant__ AdamWScalars scalars) {
  const int i = static_cast<int>(threadIdx.x);
  if (i >= predicted.count) return;
  const Predicted& p = predicted.all[i];
  const float element =
      p.narrow ? next<__nv_bfloat16>(p.slice, scalars, *p.to.leader) : next<float>(p.slice, scalars, *p.to.leader);
  *p.to.scale = scale_of(fabsf(element), e4m3::max, p.to.power_of_two);
}

/// Where the prediction was right, a look at two scales; else it reads 4 bytes an element and writes 1.
__global__ void __launch_bounds__(threads) recast_float8_kernel(const RecastFloat8 args, std::int64_t packs) {
  const float scale = *args.scale;
  if (__float_as_uint(*args.written_by) == __float_as_uint(scale)) return;
  const Float8Cast cast{scale, true};
  const unsigned amax = __float_as_uint(*args.amax);
  auto* y = static_cast<std::uint8_t*>(args.y);
  std::int64_t leader = -1;
  for_packs<4>(args.n, packs, [&](auto full, std::int64_t at, int count) {
    const Chunk<float, 4> in = read<full, 4>(args.x + at, count);
    write_codes<full, 4>(y + at, cast(in), count);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      if ((full || j < count) && (__float_as_uint(in.v[j]) & 0x7FFFFFFFu) == amax) leader = at + j;
    }
  });
  if (leader < 0) return;
  atomicExch(reinterpret_cast<unsigned long long*>(args.leader), static_cast<unsigned long long>(leader));
}

}  // namespace

void predict_scales(Stream& stream, const PredictScales& args) {
  AllPredicted predicted{};
  for (const AdamWUpdate& u : args.of.all()) {
    if (u.prediction.leader == nullptr) continue;
    predicted.all[predicted.count++] = {AdamWSlice(u), u.gradient_dtype == DType::bf16, u.prediction};
  }
  if (predicted.count == 0) return;
  predict_scales_kernel<<<1, threads_predicting, 0, native(stream)>>>(predicted, scalars_of(args.of.updates[0]));
  check_launch("predict_scales");
}

void recast_float8(Stream& stream, const RecastFloat8& args) {
  const std::int64_t packs = aligned(16, args.x) && aligned(4, static_cast<char*>(args.y)) ? args.n / 4 : 0;
  recast_float8_kernel<<<blocks_for(args.n, threads * 4), threads, 0, native(stream)>>>(args, packs);
  check_launch("recast_float8");
}

}  // namespace octet::cuda
