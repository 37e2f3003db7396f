#include "kernels/cross_entropy.h"

#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/vector.cuh"

namespace octet::cuda {
namespace {

constexpr int most_threads = 1024;
constexpr int unroll = 4;  // loads under way in a thread
constexpr float infinity = __builtin_huge_valf();

/// Σ exp(x - max) of the values so far, rescaled when the maximum grows (Milakov & Gimelshein, arXiv:1805.02867). A NaN
/// makes the sum NaN and leaves the maximum alone.
struct OnlineSum {
  float max = -infinity;
  float sum = 0.0f;

  /// What is subtracted instead of a maximum of -inf, so that exp gives 0 and not NaN.
  static __device__ float base_of(float max) { return max == -infinity ? 0.0f : max; }

  template <int n>
  __device__ void add(const float (&x)[n]) {
    float now = max;
#pragma unroll
    for (int i = 0; i < n; ++i) now = fmaxf(now, x[i]);
    const float base = base_of(now);
    sum *= expf(max - base);
#pragma unroll
    for (int i = 0; i < n; ++i) sum += expf(x[i] - base);
    max = now;
  }
  __device__ void merge(float other_max, float other_sum) {
    const float now = fmaxf(max, other_max), base = base_of(now);
    sum = sum * expf(max - base) + other_sum * expf(other_max - base);
    max = now;
  }
  __device__ void merge_warp() {
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) {
      merge(__shfl_xor_sync(~0u, max, distance), __shfl_xor_sync(~0u, sum, distance));
    }
  }
  /// Every thread gets the block's. A barrier: what a thread read before it, another may overwrite after it.
  __device__ void merge_block() {
    __shared__ float maxima[32], sums[32];
    merge_warp();
    const unsigned lane = threadIdx.x % 32;
    if (lane == 0) {
      maxima[threadIdx.x / 32] = max;
      sums[threadIdx.x / 32] = sum;
    }
    __syncthreads();
    const bool filled = lane < blockDim.x / 32;
    max = filled ? maxima[lane] : -infinity;
    sum = filled ? sums[lane] : 0.0f;
    merge_warp();
  }
};

/// V consecutive values: 4 by one access, or 1.
template <int V>
__device__ __forceinline__ void read(const float* x, float (&v)[V]) {
  if constexpr (V == 4) {
    const Pack<float> pack = load_mutable(x);
#pragma unroll
    for (int j = 0; j < V; ++j) v[j] = pack.v[j];
  } else {
    v[0] = *x;
  }
}
template <int V, typename T>
__device__ __forceinline__ void write(T* d, const float (&v)[V]) {
  struct alignas(V * sizeof(T)) {
    T v[V];
  } values;
#pragma unroll
  for (int j = 0; j < V; ++j) values.v[j] = from_float<T>(v[j]);
  *reinterpret_cast<decltype(values)*>(d) = values;
}

template <int V>
__device__ OnlineSum sum_row(const float* x, std::int64_t vocab) {
  OnlineSum online;
  for (std::int64_t begin = 0; begin < vocab; begin += std::int64_t{blockDim.x} * unroll * V) {
    float v[unroll][V];
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      const std::int64_t i = begin + (u * std::int64_t{blockDim.x} + threadIdx.x) * V;
#pragma unroll
      for (int j = 0; j < V; ++j) v[u][j] = -infinity;
      if (i < vocab) read<V>(x + i, v[u]);
    }
    online.add(reinterpret_cast<const float(&)[unroll * V]>(v));
  }
  online.merge_block();
  return online;
}

/// From the end of the row to its beginning: what was read last is in the L2 cache still.
template <int V, typename T>
__device__ void write_gradient(const float* x, T* d, std::int64_t vocab, OnlineSum softmax, std::int32_t target,
                               float scale) {
  const float factor = scale / softmax.sum;
  const std::int64_t groups = vocab / V;
  for (std::int64_t g = groups - 1 - threadIdx.x; g >= 0; g -= blockDim.x) {
    float v[V];
    read<V>(x + g * V, v);
#pragma unroll
    for (int j = 0; j < V; ++j) {
      const float e = expf(v[j] - softmax.max);
      v[j] = g * V + j == target ? (e / softmax.sum - 1.0f) * scale : e * factor;
    }
    write<V>(d + g * V, v);
  }
}

/// One block a row.
template <int V, typename T>
__global__ void __launch_bounds__(most_threads) cross_entropy_rows(CrossEntropy args) {
  const std::int64_t row = blockIdx.x;
  const float* x = args.logits + row * args.vocab;
  T* d = args.d_logits == nullptr ? nullptr : static_cast<T*>(args.d_logits) + row * args.vocab;
  const std::int32_t target = args.targets[row];
  if (target < 0) {  // the whole block
    if (threadIdx.x == 0) args.losses[row] = 0.0f;
    if (d == nullptr) return;
    const float zeros[V] = {};
    for (std::int64_t g = threadIdx.x; g < args.vocab / V; g += blockDim.x) write<V>(d + g * V, zeros);
    return;
  }
  const float at_target = x[target];  // before d overwrites it, which is after the barrier in sum_row
  const OnlineSum softmax = sum_row<V>(x, args.vocab);
  if (threadIdx.x == 0) {
    const double log_sum_exp = static_cast<double>(softmax.max) + log(static_cast<double>(softmax.sum));
    args.losses[row] = static_cast<float>(log_sum_exp - static_cast<double>(at_target));
  }
  if (d != nullptr) write_gradient<V>(x, d, args.vocab, softmax, target, args.scale);
}

template <typename T>
void launch(const CrossEntropy& args, cudaStream_t stream) {
  const unsigned threads = args.vocab >= 16384 ? most_threads : args.vocab >= 2048 ? 256 : 64;
  // 16-byte reads; the gradient's stores are as aligned as it is.
  if (aligned_to_16(args.vocab * 4, args.logits, args.d_logits)) {
    cross_entropy_rows<4, T><<<static_cast<unsigned>(args.rows), threads, 0, stream>>>(args);
  } else {
    cross_entropy_rows<1, T><<<static_cast<unsigned>(args.rows), threads, 0, stream>>>(args);
  }
  check_launch("cross_entropy");
}

}  // namespace

/// Must move rows · vocab · 4 bytes for the losses, and for the gradient as many again and
/// rows · vocab · sizeof(d_dtype); part of the second read comes from the L2 cache.
void cross_entropy(Stream& stream, const CrossEntropy& args) {
  if (args.rows == 0) return;
  dispatch_storage(args.d_dtype, [&]<typename T>(T) { launch<T>(args, native(stream)); });
}

}  // namespace octet::cuda
