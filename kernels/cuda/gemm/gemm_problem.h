#pragma once

#include <cublasLt.h>

#include <compare>
#include <cstdint>
#include <string>

#include "kernels/gemm.h"

namespace octet::cuda {

/// Workspace of every GEMM: what NVIDIA recommends for cuBLAS on Hopper. One size for all, so that the memory plan
/// needs no device and an algorithm does not depend on who calls.
constexpr std::int64_t gemm_workspace_bytes = 32 << 20;

/// Says whether an operand has a scale for each index that it keeps. Where both operands have, and cuBLASLt has an
/// algorithm for it (outer-vector scaling), it applies them. Else it multiplies with unit scales, a few rows of C at a
/// time, and scale_sums does the rest. Scales along k, of vectors and blocks, are always left to the library.
inline bool has_outer_scales(const Gemm& args) {
  return args.a.scales == ScaleForm::each || args.b.scales == ScaleForm::each;
}
/// Rows of C whose fp32 sums are in the workspace at a time, behind the library's own: at most 64 MiB, or 16 rows.
std::int64_t rows_of_sums(const Gemm& args);
/// Bytes of the whole workspace. It does not depend on what the library can do.
std::int64_t workspace_bytes_of(const Gemm& args);

/// Refuses what cuBLASLt on Hopper cannot do, by an internal error with the numbers (src/ops asks for nothing of it):
/// - operands that are not both f32, both bf16 or both fp8; e5m2 by e5m2; f32 operands with a bf16 result;
/// - fp8 whose operands are not both k-contiguous (a [m, k], b transposed), extents that are not multiples of 16, a
///   missing inverse scale ("To use FP8 kernels", https://docs.nvidia.com/cuda/cublas/#cublasltmatmul);
/// - scales and addresses that check_operands refuses;
/// - another beta than 0 and 1; a missing pointer; too little workspace.
/// Extents must be positive.
void check_gemm(const Gemm& args);

/// What a plan depends on, and nothing else: the key of the plan cache.
struct GemmProblem {
  DType a, b, c;
  bool a_transposed, b_transposed;
  std::int64_t m, n, k;
  bool accumulate;  ///< beta is 1
  bool fast_accumulate;
  ScaleForm a_scales, b_scales;               ///< as the library is told: `each` of both or of none
  std::int64_t multiprocessors;               ///< that it is chosen for; 0: all
  int a_alignment, b_alignment, c_alignment;  ///< of the pointers, in bytes: a power of two, at most 256

  auto operator<=>(const GemmProblem&) const = default;  // NOLINT(modernize-use-nullptr): of clang-tidy's own making
  /// Both operands have a scale for each of m and of n.
  bool outer_scales() const { return a_scales == ScaleForm::each; }

  /// "m8192 n4096 k1024 e4m3 x e4m3' > bf16 beta0 fast align 256 256 256"; ' says transposed. Behind "fast" may stand
  /// "outer scales" or "scales vectors x blocks", and then "on 108 multiprocessors". Unique to the problem.
  std::string text() const;
};
GemmProblem describe(const Gemm& args);

/// A matrix in cuBLASLt's terms: column-major, `rows` is also its leading dimension.
struct ColumnMajor {
  cudaDataType_t type;
  bool transposed;
  std::int64_t rows, columns;  ///< as stored
};

/// Row-major C = A·B is, read column by column, Cᵀ = Bᵀ·Aᵀ: the library's first operand is our B, its second our A, and
/// every stored matrix keeps its bytes and is seen transposed. What we call transposed stays so: b stored [n, k] is
/// column-major k × n and wanted as n × k. So a [m, k] with b [n, k] is the library's TN, the one layout in which
/// Hopper multiplies fp8.
struct LibraryLayouts {
  ColumnMajor first, second, result;
};
LibraryLayouts layouts_of(const GemmProblem& problem);

}  // namespace octet::cuda
