#pragma once

#include <cuda_fp8.h>

#include <cstdint>

#include "kernels/cuda/device/vector.cuh"
#include "kernels/cuda/host/launch.h"
#include "kernels/stats.h"

/// What RMSNorm forward and backward share. One block works on one row at a time, the row spread over its threads in
/// packs of 16 bytes: thread t has packs t, t + blockDim.x, ... in registers, so that a row is read once.
namespace octet::cuda::rmsnorm {

constexpr int most_threads = 512;
constexpr int threads_any = 256;  ///< of the kernels for any dim and alignment

/// Threads, a multiple of 32, that hold `dim` elements of T with `packs` packs each.
template <typename T>
unsigned threads_for(std::int64_t dim, int packs) {
  return static_cast<unsigned>(ceil_div(ceil_div(dim / Pack<T>::size, packs), 32) * 32);
}
/// The widest row that `threads` hold so.
template <typename T>
constexpr std::int64_t widest(int threads, int packs) {
  return std::int64_t{threads} * packs * Pack<T>::size;
}
/// Packs a thread of the kernel for the widest rows, which have 16384 elements.
template <typename T>
constexpr int most_packs = 16384 / (most_threads * Pack<T>::size);

/// Index of pack p of this thread.
__device__ __forceinline__ int pack_index(int p) {
  return p * static_cast<int>(blockDim.x) + static_cast<int>(threadIdx.x);
}

/// The fp8 form of stored values: pairs become two bytes, rounded to nearest even, saturating.
struct Float8Writer {
  std::uint8_t* y;
  __nv_fp8_interpretation_t format;
  float scale;

  __device__ explicit Float8Writer(const Float8Out& out)
      : y(static_cast<std::uint8_t*>(out.y)),
        format(out.format == DType::e4m3 ? __NV_E4M3 : __NV_E5M2),
        scale(out.y == nullptr ? 1.0f : *out.scale) {}

  __device__ void write(std::int64_t at, float x) const {
    if (y != nullptr) y[at] = __nv_cvt_float_to_fp8(x * scale, __NV_SATFINITE, format);
  }
  /// 4 or 8 bytes by one store.
  template <typename T>
  __device__ void write(std::int64_t at, const Pack<T>& pack) const {
    if (y == nullptr) return;
    struct alignas(Pack<T>::size) {
      __nv_fp8x2_storage_t v[Pack<T>::size / 2];
    } bytes;
#pragma unroll
    for (int j = 0; j < Pack<T>::size / 2; ++j) {
      const float2 pair{to_float(pack.v[2 * j]) * scale, to_float(pack.v[2 * j + 1]) * scale};
      bytes.v[j] = __nv_cvt_float2_to_fp8x2(pair, __NV_SATFINITE, format);
    }
    *reinterpret_cast<decltype(bytes)*>(y + at) = bytes;
  }
};

}  // namespace octet::cuda::rmsnorm
