#pragma once

#include <gtest/gtest.h>

#include "kernels/table.h"

namespace octet::test {

/// Whether an fp8 GEMM reads both of its operands along k, as Hopper's does; all others do for this purpose.
inline bool is_k_major(const Gemm& args) {
  return !is_float8(args.a.dtype) || (!args.a.transposed && args.b.transposed);
}

/// The CPU's kernels in the role of a GPU's: they ask for k-contiguous fp8 operands, and a GEMM without them fails the
/// test.
inline KernelTable k_major_kernels() {
  KernelTable kernels = cpu_kernels();
  kernels.float8_gemm_k_major = true;
  kernels.gemm = [](Stream& stream, const Gemm& args) {
    EXPECT_TRUE(is_k_major(args)) << "m " << args.m << " n " << args.n << " k " << args.k;
    cpu_kernels().gemm(stream, args);
  };
  return kernels;
}

}  // namespace octet::test
