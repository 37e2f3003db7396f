#pragma once

#include <gtest/gtest.h>

#include <string>

#include "kernels/cuda/gemm/gemm_problem.h"
#include "src/base/error.h"
#include "tests/support/error_of.h"

namespace octet::cuda_test {

/// An address that nothing reads.
inline void* address(std::uintptr_t value) {
  return reinterpret_cast<void*>(value);
}

/// y = x wᵀ in the given dtypes, with plausible pointers and the full workspace.
inline Gemm linear_gemm(DType a = DType::bf16, DType b = DType::bf16, DType c = DType::bf16) {
  const auto scale = [](DType t, std::uintptr_t at) {
    return is_float8(t) ? static_cast<const float*>(address(at)) : nullptr;
  };
  return {.a = {.data = address(0x10000), .dtype = a, .transposed = false, .inverse_scale = scale(a, 0x500)},
          .b = {.data = address(0x20000), .dtype = b, .transposed = true, .inverse_scale = scale(b, 0x600)},
          .c = address(0x30000),
          .c_dtype = c,
          .m = 64,
          .n = 96,
          .k = 128,
          .workspace = address(0x40000),
          .workspace_bytes = octet::cuda::gemm_workspace_bytes};
}

/// One with scales along k.
inline Gemm blockwise_gemm(ScaleForm a, ScaleForm b) {
  Gemm args = linear_gemm(DType::e4m3, DType::e4m3);
  args.m = 256, args.n = 384, args.k = 128;
  args.a.scales = a, args.b.scales = b;
  return args;
}

}  // namespace octet::cuda_test
