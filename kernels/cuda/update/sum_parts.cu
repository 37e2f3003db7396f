#include "kernels/sum_parts.h"

#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/device/packs.cuh"
#include "kernels/cuda/host/launch.h"

namespace octet::cuda {
namespace {

constexpr int threads = 256;
constexpr int pack = 4;    // elements: 16 bytes of f32
constexpr int unroll = 4;  // parts whose loads are under way in a thread

/// Four neighbouring elements a thread.
template <typename In, typename Out>
__global__ void __launch_bounds__(threads) sum_parts_kernel(SumParts args, std::int64_t packs) {
  const In* __restrict__ parts = static_cast<const In*>(args.parts);
  Out* __restrict__ out = static_cast<Out*>(args.out);
  for_packs<pack>(args.n, packs, [&](auto full, std::int64_t at, int count) {
    const Chunk<In, pack> first = read<full, pack>(parts + at, count);
    Chunk<float, pack> sum;
#pragma unroll
    for (int j = 0; j < pack; ++j) sum.v[j] = to_float(first.v[j]);
#pragma unroll unroll
    for (int p = 1; p < args.count; ++p) {
      const Chunk<In, pack> part = read<full, pack>(parts + p * args.n + at, count);
#pragma unroll
      for (int j = 0; j < pack; ++j) sum.v[j] += to_float(part.v[j]);
    }
    if (args.accumulate) {
      const Chunk<Out, pack> before = read<full, pack>(out + at, count);
#pragma unroll
      for (int j = 0; j < pack; ++j) sum.v[j] = to_float(before.v[j]) + sum.v[j];
    }
    Chunk<Out, pack> rounded;
#pragma unroll
    for (int j = 0; j < pack; ++j) rounded.v[j] = from_float<Out>(sum.v[j]);
    write<full>(out + at, rounded, count);
  });
}

template <typename In, typename Out>
void launch(const SumParts& args, cudaStream_t stream) {
  // A pack is one access in every part when the parts begin at multiples of it.
  const bool whole = aligned(pack * sizeof(In), args.parts) && aligned(pack * sizeof(Out), args.out) &&
                     (args.count == 1 || args.n % pack == 0);
  sum_parts_kernel<In, Out>
      <<<blocks_for(args.n, threads * pack), threads, 0, stream>>>(args, whole ? args.n / pack : 0);
  check_launch("sum_parts");
}

}  // namespace

/// Must move count · n · sizeof(dtype) and n · sizeof(out_dtype), the latter twice to accumulate.
void sum_parts(Stream& stream, const SumParts& args) {
  if (args.accumulate && args.out_dtype != DType::f32) {
    throw internal_error("kernels", "sum_parts: accumulating in {}, expected f32", name_of(args.out_dtype));
  }
  if (args.n == 0) return;
  dispatch_storage(args.dtype, [&]<typename In>(In) {
    dispatch_storage(args.out_dtype, [&]<typename Out>(Out) { launch<In, Out>(args, native(stream)); });
  });
}

}  // namespace octet::cuda
