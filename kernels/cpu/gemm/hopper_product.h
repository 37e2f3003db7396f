#pragma once

#include <cstdint>

#include "kernels/cpu/gemm/multiply.h"
#include "src/base/dtype.h"

namespace octet::cpu {

/// C[m, n] = A[m, k] · B[k, n] of fp8 operands, summed as Hopper's tensor cores sum them. C is fp32 and contiguous.
///
/// The rule is the preset `hopper` of mmaemu 0.1.0 (PyPI, Apache-2.0; measured by its authors on cuBLASLt 12.8 on an
/// H100 PCIe) after Khattak and Mikaitis, arXiv 2512.07004. An element begins at c = 0 and takes 32 products at a time:
/// - E is the largest of e(a) + e(b) over the products that are not zero, and of floor(log2|c|); e(x) is
/// floor(log2|x|),
///   for subnormal numbers that of the smallest normal one (-6 of e4m3, -14 of e5m2);
/// - c becomes 2^(E - 13) · (Σ trunc(a·b · 2^(13 - E)) + trunc(c · 2^(13 - E))), the sum in integers, then cut to 13
///   fraction bits of its own exponent. Every cut is toward zero; zero is +0.
/// Fast accumulation is one such chain over k. Without it every 128 of k are a chain, and their results are added in
/// fp32, to nearest even, in order. k is never split (cuBLASLt may do so where m · n is small and k long).
///
/// Where a NaN or an infinity takes part, the element is the IEEE sum: NaN (bits 0x7FFFFFFF), or an infinity.
/// Same bits for any number of threads and any width of vectors.
struct HopperMultiply {
  MultiplyOperand a, b;
  DType a_dtype = DType::e4m3, b_dtype = DType::e4m3;  ///< each e4m3 or e5m2
  float* c = nullptr;
  std::int64_t m = 0, n = 0, k = 0;
  bool fast = false;
};

}  // namespace octet::cpu
