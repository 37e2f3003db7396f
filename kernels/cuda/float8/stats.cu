#include "kernels/stats.h"

#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/device/stats_fold.cuh"
#include "kernels/cuda/device/vector.cuh"
#include "kernels/cuda/host/launch.h"

namespace octet::cuda {
namespace {

constexpr int threads = 256;

/// Reads n · sizeof(T) bytes. `vectors` is n / Pack<T>::size where 16-byte reads are possible, else 0.
template <typename T>
__global__ void __launch_bounds__(threads)
    stats_kernel(const T* __restrict__ x, std::int64_t n, std::int64_t vectors, StatsOut out) {
  const std::int64_t thread = std::int64_t{blockIdx.x} * threads + threadIdx.x;
  const std::int64_t stride = std::int64_t{gridDim.x} * threads;
  StatsFold fold;
  for (std::int64_t i = thread; i < vectors; i += stride) {
    const Pack<T> pack = load(x + i * Pack<T>::size);
#pragma unroll
    for (int j = 0; j < Pack<T>::size; ++j) fold.add(to_float(pack.v[j]));
  }
  for (std::int64_t i = vectors * Pack<T>::size + thread; i < n; i += stride) fold.add(to_float(x[i]));
  fold.publish(out);
}

}  // namespace

void stats(Stream& stream, const Stats& args) {
  if (!args.out.wanted() || args.n == 0) return;
  dispatch_storage(args.dtype, [&]<typename T>(T) {
    const std::int64_t vectors = aligned_to_16(16, args.x) ? args.n / Pack<T>::size : 0;
    stats_kernel<T><<<blocks_for(args.n, threads * Pack<T>::size), threads, 0, native(stream)>>>(
        static_cast<const T*>(args.x), args.n, vectors, args.out);
    check_launch("stats");
  });
}

}  // namespace octet::cuda
