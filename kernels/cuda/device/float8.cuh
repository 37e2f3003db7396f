#pragma once

#include <cuda_fp8.h>

#include <cstdint>

#include "kernels/cuda/device/packs.cuh"
#include "kernels/stats.h"
#include "src/base/dtype.h"

namespace octet::cuda {

/// Four values to float8 codes, the first in the lowest byte: saturating (infinity too), nearest even, subnormals kept,
/// as src/base/float8.h bit by bit. NaN becomes 0x7F; its sign is lost, here or in the multiplication before.
/// sm_89 and later have an instruction, which rounds once from fp32; before, the host's own code runs.
__device__ __forceinline__ std::uint32_t float8_codes(float a, float b, float c, float d, bool to_e4m3) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
  const __nv_fp8_interpretation_t format = to_e4m3 ? __NV_E4M3 : __NV_E5M2;
  const std::uint32_t low = __nv_cvt_float2_to_fp8x2(make_float2(a, b), __NV_SATFINITE, format);
  const std::uint32_t high = __nv_cvt_float2_to_fp8x2(make_float2(c, d), __NV_SATFINITE, format);
  return low | high << 16;
#else
  const auto code = [to_e4m3](float x) -> std::uint32_t { return to_e4m3 ? e4m3::encode(x) : e5m2::encode(x); };
  return code(a) | code(b) << 8 | code(c) << 16 | code(d) << 24;
#endif
}

/// The codes of `size` neighbouring elements, four a word.
template <int size>
using Codes = Chunk<std::uint32_t, size / 4>;

/// Bytes that are codes already.
template <int size>
__device__ __forceinline__ Codes<size> pack_bytes(const Chunk<std::uint8_t, size>& bytes) {
  Codes<size> codes;
  static_assert(sizeof(codes) == sizeof(bytes));
  std::memcpy(&codes, &bytes, sizeof(bytes));
  return codes;
}

template <bool full, int size>
__device__ __forceinline__ void write_codes(std::uint8_t* p, const Codes<size>& codes, int count) {
  if constexpr (full) {
    write<true>(reinterpret_cast<std::uint32_t*>(p), codes, size / 4);
  } else {
#pragma unroll
    for (int j = 0; j < size; ++j) {
      if (j < count) p[j] = static_cast<std::uint8_t>(codes.v[j / 4] >> (8 * (j % 4)));
    }
  }
}

/// A tensor's cast: code of (fp32(x) · scale), the multiplication in fp32.
struct Float8Cast {
  float scale;
  bool to_e4m3;

  template <typename T, int size>
  __device__ __forceinline__ Codes<size> operator()(const Chunk<T, size>& x) const {
    Codes<size> codes;
#pragma unroll
    for (int j = 0; j < size; j += 4) {
      codes.v[j / 4] = float8_codes(to_float(x.v[j]) * scale, to_float(x.v[j + 1]) * scale,
                                    to_float(x.v[j + 2]) * scale, to_float(x.v[j + 3]) * scale, to_e4m3);
    }
    return codes;
  }
};

/// The cast of a kernel's Float8Out; the scale is read once a thread, and only when the form is asked for.
__device__ __forceinline__ Float8Cast float8_cast(const Float8Out& out) {
  return {out.y != nullptr ? *out.scale : 0.0f, out.format == DType::e4m3};
}

}  // namespace octet::cuda
