#include "kernels/rmsnorm.h"

#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/device/row_reduce.cuh"
#include "kernels/cuda/device/stats_fold.cuh"
#include "kernels/cuda/layers/rmsnorm.cuh"

namespace octet::cuda {
namespace {

using namespace rmsnorm;

__device__ __forceinline__ float inverse_rms_of(float squares, const AddRmsNormForward& args) {
  return 1.0f / sqrtf(squares / static_cast<float>(args.dim) + args.eps);
}

/// The row in registers, P packs a thread. dim is a multiple of Pack<T>::size and everything is aligned to 16 bytes.
template <typename T, int P>
__global__ void __launch_bounds__(most_threads, 1) forward_packs(AddRmsNormForward args) {
  __shared__ float warps[32];
  constexpr int size = Pack<T>::size;
  const int packs = static_cast<int>(args.dim / size);
  const T* weight = static_cast<const T*>(args.weight);
  const Float8Writer float8(args.float8);
  StatsFold fold;
  for (std::int64_t row = blockIdx.x; row < args.rows; row += gridDim.x) {
    const std::int64_t first = row * args.dim;
    Pack<T> x[P];
#pragma unroll
    for (int p = 0; p < P; ++p) {
      if (pack_index(p) < packs)
        x[p] = load_mutable(static_cast<const T*>(args.residual) + first + pack_index(p) * size);
    }
    if (args.branch != nullptr) {
      Pack<T> branch[P];
#pragma unroll
      for (int p = 0; p < P; ++p) {
        if (pack_index(p) < packs)
          branch[p] = load_mutable(static_cast<const T*>(args.branch) + first + pack_index(p) * size);
      }
#pragma unroll
      for (int p = 0; p < P; ++p) {
        if (pack_index(p) >= packs) continue;
#pragma unroll
        for (int j = 0; j < size; ++j) x[p].v[j] = from_float<T>(to_float(x[p].v[j]) + to_float(branch[p].v[j]));
        store(static_cast<T*>(args.sum) + first + pack_index(p) * size, x[p]);
      }
    }
    float squares = 0.0f;
#pragma unroll
    for (int p = 0; p < P; ++p) {
      if (pack_index(p) >= packs) continue;
#pragma unroll
      for (int j = 0; j < size; ++j) squares += to_float(x[p].v[j]) * to_float(x[p].v[j]);
    }
    const float inverse_rms = inverse_rms_of(block_sum(squares, warps), args);
    if (threadIdx.x == 0) args.inverse_rms[row] = inverse_rms;
#pragma unroll
    for (int p = 0; p < P; ++p) {
      if (pack_index(p) >= packs) continue;
      const Pack<T> w = load(weight + pack_index(p) * size);
#pragma unroll
      for (int j = 0; j < size; ++j) {
        x[p].v[j] = from_float<T>(to_float(x[p].v[j]) * inverse_rms * to_float(w.v[j]));
        fold.add(to_float(x[p].v[j]));
      }
      if (args.y != nullptr) store(static_cast<T*>(args.y) + first + pack_index(p) * size, x[p]);
      float8.write(first + pack_index(p) * size, x[p]);
    }
  }
  fold.publish(args.stats);
}

/// Any dim and alignment: element by element, the row read a second time by the threads that wrote it.
template <typename T>
__global__ void __launch_bounds__(threads_any) forward_any(AddRmsNormForward args) {
  __shared__ float warps[32];
  const T* weight = static_cast<const T*>(args.weight);
  const Float8Writer float8(args.float8);
  StatsFold fold;
  for (std::int64_t row = blockIdx.x; row < args.rows; row += gridDim.x) {
    const std::int64_t first = row * args.dim;
    const T* residual = static_cast<const T*>(args.residual) + first;
    const T* branch = args.branch == nullptr ? nullptr : static_cast<const T*>(args.branch) + first;
    T* sum = static_cast<T*>(args.sum) + first;  // not used without a branch
    float squares = 0.0f;
    for (std::int64_t i = threadIdx.x; i < args.dim; i += threads_any) {
      T v = residual[i];
      if (branch != nullptr) sum[i] = v = from_float<T>(to_float(v) + to_float(branch[i]));
      squares += to_float(v) * to_float(v);
    }
    const float inverse_rms = inverse_rms_of(block_sum(squares, warps), args);
    if (threadIdx.x == 0) args.inverse_rms[row] = inverse_rms;
    for (std::int64_t i = threadIdx.x; i < args.dim; i += threads_any) {
      const float v = to_float(branch != nullptr ? sum[i] : residual[i]);
      const T y = from_float<T>(v * inverse_rms * to_float(weight[i]));
      if (args.y != nullptr) static_cast<T*>(args.y)[first + i] = y;
      fold.add(to_float(y));
      float8.write(first + i, to_float(y));
    }
  }
  fold.publish(args.stats);
}

template <typename T>
void forward(const AddRmsNormForward& args, cudaStream_t stream) {
  const bool whole = aligned_to_16(args.dim * static_cast<std::int64_t>(sizeof(T)), args.residual, args.branch,
                                   args.weight, args.branch == nullptr ? nullptr : args.sum, args.y, args.float8.y);
  const auto launch = [&](auto* kernel, int packs) {
    const unsigned threads = threads_for<T>(args.dim, packs);
    // Blocks that go on from row to row publish their statistics once: 2048 threads for each multiprocessor.
    const auto most = static_cast<std::int64_t>(h100_multiprocessors) * (2048 / threads);
    const auto blocks = static_cast<unsigned>(std::min<std::int64_t>(args.rows, most));
    kernel<<<blocks, threads, 0, stream>>>(args);
  };
  if (whole && args.dim <= widest<T>(most_threads, 4)) {
    launch(forward_packs<T, 4>, 4);
  } else if (whole && args.dim <= widest<T>(most_threads, most_packs<T>)) {
    launch(forward_packs<T, most_packs<T>>, most_packs<T>);
  } else {
    forward_any<T><<<blocks_for(args.rows, 1), threads_any, 0, stream>>>(args);
  }
  check_launch("add_rmsnorm_forward");
}

}  // namespace

void add_rmsnorm_forward(Stream& stream, const AddRmsNormForward& args) {
  if (args.rows == 0) return;
  dispatch_storage(args.dtype, [&]<typename T>(T) { forward<T>(args, native(stream)); });
}

}  // namespace octet::cuda
