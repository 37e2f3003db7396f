#pragma once

#include <cstdint>
#include <string>

#include "kernels/scale_layout.h"
#include "src/base/dtype.h"
#include "src/base/scale_form.h"
#include "src/device/device.h"

namespace octet {

/// A row-major matrix, read as stored or transposed. fp8 matrices carry the inverses of their scales.
struct GemmOperand {
  const void* data = nullptr;
  DType dtype = DType::f32;
  bool transposed = false;               ///< stored [k, m] (A) or [n, k] (B)
  const float* inverse_scale = nullptr;  ///< device pointer on gemm_scale_alignment bytes, only for fp8
  ScaleForm scales = ScaleForm::tensor;  ///< how many there are, and where; A keeps m, B keeps n

  bool operator==(const GemmOperand&) const = default;
};

/// C[m, n] = A[m, k] · B[k, n] · (inverse scales) + beta · C, summed in fp32, stored in c_dtype (f32 or bf16).
/// A and B are both f32, both bf16 or both fp8 (e4m3 and e5m2 mix). Everything is contiguous and row-major.
/// 2·m·n·k operations; on the CPU bf16 and fp8 operands are first widened to the machine's GEMM input type, unless
/// Hopper's sums are asked for.
///
/// Scales along the contracted dimension (`vectors`, `blocks`) multiply each 128 products of a sum apart: C = Σ over l
/// of (a's scale · b's scale)(l) · Σ of the 128 products of block l. Both operands have such scales or none, they are
/// not both `blocks`, sums are promoted to fp32 (fast_accumulate is refused), and m, n and k are multiples of 128,
/// which TransformerEngine asks too. The CPU multiplies the values, code · inverse scale in fp32, with fp32 input
/// whatever it is for other GEMMs; by Hopper's arithmetic, each 128 products are summed as there and enter the total by
/// an fp32 fused multiply-add with the product of the scales, as in DeepGEMM (sm90_fp8_gemm_1d2d.cuh).
struct Gemm {
  GemmOperand a;
  GemmOperand b;
  void* c = nullptr;
  DType c_dtype = DType::f32;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  float beta = 0.0f;  ///< 0 or 1; C is not read when 0
  /// fp8 by Hopper's arithmetic: sums are never promoted to fp32. No effect on other operands, nor where the CPU sums
  /// in fp32.
  bool fast_accumulate = false;
  /// fp8 on the CPU: the sums of Hopper's tensor cores, bit for bit (kernels/cpu/gemm/hopper_multiply.h), instead of
  /// fp32. No effect on other operands, nor on a GPU, which has its own.
  bool emulate_hopper = false;
  /// How many multiprocessors of a GPU the algorithm is chosen for, where other work has the rest; 0 means all. The CPU
  /// has no use for it.
  std::int64_t multiprocessors = 0;
  void* workspace = nullptr;  ///< KernelTable::gemm_workspace bytes, on gemm_workspace_alignment
  std::int64_t workspace_bytes = 0;

  double flops() const { return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k); }
  DType multiplied() const { return a.dtype; }
  /// Scales count where there is one for each 128 values; one for each of m or n is next to nothing.
  std::int64_t bytes_moved() const {
    const auto scales = [&](const GemmOperand& x, std::int64_t kept) {
      return along_contraction(x.scales) ? 4 * scale_count(x.scales, kept, k) : 0;
    };
    return m * k * size_of(a.dtype) + k * n * size_of(b.dtype) + scales(a, m) + scales(b, n) +
           m * n * size_of(c_dtype) * (beta == 0 ? 1 : 2);
  }
  bool operator==(const Gemm&) const = default;
};

/// What cuBLASLt's documentation asks of the workspace of cublasLtMatmul.
constexpr std::int64_t gemm_workspace_alignment = 256;
/// What it asks of the three matrices of an fp8 product.
constexpr std::int64_t float8_matrix_alignment = 16;

/// The rules on scales and on addresses (of inverse scales, of fp8 operands with their result, and of the workspace),
/// which hold on every device. Throws an internal error with the numbers, or with the pointer and its alignment.
void check_operands(const Gemm& args);
/// "gemm of m 64 n 96 k 128, e4m3 x e4m3' > bf16"; ' says transposed.
std::string text_of(const Gemm& args);

}  // namespace octet
