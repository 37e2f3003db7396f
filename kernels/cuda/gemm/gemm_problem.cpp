#include "kernels/cuda/gemm/gemm_problem.h"

#include <algorithm>
#include <bit>

#include "src/base/error.h"

namespace octet::cuda {
namespace {

template <typename... Args>
void require(bool condition, const Gemm& args, fmt::format_string<Args...> text, Args&&... values) {
  if (condition) return;
  throw internal_error("kernels", "{}: {}", text_of(args), fmt::format(text, std::forward<Args>(values)...));
}

int alignment_of(const void* pointer) {
  return static_cast<int>(1u << std::countr_zero(reinterpret_cast<std::uintptr_t>(pointer) | 256u));
}

void check_types(const Gemm& g) {
  const bool float8 = is_float8(g.a.dtype) && is_float8(g.b.dtype);
  const bool storage = g.a.dtype == g.b.dtype && (g.a.dtype == DType::f32 || g.a.dtype == DType::bf16);
  require(float8 || storage, g, "operands must be both f32, both bf16 or both fp8");
  require(g.a.dtype != DType::e5m2 || g.b.dtype != DType::e5m2, g, "e5m2 is multiplied by e4m3 only");
  require(g.c_dtype == DType::f32 || g.c_dtype == DType::bf16, g, "the result must be f32 or bf16");
  require(g.a.dtype != DType::f32 || g.c_dtype == DType::f32, g, "f32 operands give an f32 result");
}

void check_float8(const Gemm& g) {
  require(!g.a.transposed, g, "fp8 operands must have k contiguous, and a is stored [k, m]: pass its transposed copy");
  require(g.b.transposed, g, "fp8 operands must have k contiguous, and b is stored [k, n]: pass its transposed copy");
  require(g.m % 16 == 0 && g.n % 16 == 0 && g.k % 16 == 0, g, "fp8 wants m, n and k to be multiples of 16");
  require(g.a.inverse_scale != nullptr, g, "a has no inverse scale");
  require(g.b.inverse_scale != nullptr, g, "b has no inverse scale");
}

cudaDataType_t library_type(DType t) {
  switch (t) {
    case DType::f32:
      return CUDA_R_32F;
    case DType::bf16:
      return CUDA_R_16BF;
    case DType::e4m3:
      return CUDA_R_8F_E4M3;
    case DType::e5m2:
      return CUDA_R_8F_E5M2;
    default:
      throw internal_error("kernels", "gemm of {}", name_of(t));
  }
}

}  // namespace

std::int64_t rows_of_sums(const Gemm& g) {
  constexpr std::int64_t most_bytes = 64 << 20, step = 16;  // fp8 wants extents in multiples of 16
  return std::min(g.m, std::max(step, most_bytes / (4 * g.n) / step * step));
}

std::int64_t workspace_bytes_of(const Gemm& g) {
  return gemm_workspace_bytes + (has_outer_scales(g) ? rows_of_sums(g) * g.n * 4 : 0);
}

void check_gemm(const Gemm& g) {
  check_types(g);
  require(g.m > 0 && g.n > 0 && g.k > 0, g, "extents must be positive");
  require(g.a.data != nullptr && g.b.data != nullptr && g.c != nullptr, g, "a, b or c is null");
  require(g.beta == 0.0f || g.beta == 1.0f, g, "beta is {}, expected 0 or 1", g.beta);
  if (is_float8(g.a.dtype)) check_float8(g);
  check_operands(g);
  require(g.workspace != nullptr && g.workspace_bytes >= workspace_bytes_of(g), g,
          "has {} bytes of workspace and needs {}", g.workspace == nullptr ? 0 : g.workspace_bytes,
          workspace_bytes_of(g));
}

GemmProblem describe(const Gemm& g) {
  const bool outer = g.a.scales == ScaleForm::each && g.b.scales == ScaleForm::each;
  const auto told = [&](ScaleForm form) { return along_contraction(form) || outer ? form : ScaleForm::tensor; };
  return {.a = g.a.dtype,
          .b = g.b.dtype,
          .c = g.c_dtype,
          .a_transposed = g.a.transposed,
          .b_transposed = g.b.transposed,
          .m = g.m,
          .n = g.n,
          .k = g.k,
          .accumulate = g.beta != 0.0f,
          .fast_accumulate = g.fast_accumulate && is_float8(g.a.dtype),
          .a_scales = told(g.a.scales),
          .b_scales = told(g.b.scales),
          .multiprocessors = g.multiprocessors,
          .a_alignment = alignment_of(g.a.data),
          .b_alignment = alignment_of(g.b.data),
          .c_alignment = alignment_of(g.c)};
}

std::string GemmProblem::text() const {
  const std::string scales = outer_scales() ? " outer scales"
                             : along_contraction(a_scales)
                                 ? fmt::format(" scales {} x {}", name_of(a_scales), name_of(b_scales))
                                 : "";
  const std::string part = multiprocessors == 0 ? "" : fmt::format(" on {} multiprocessors", multiprocessors);
  return fmt::format("m{} n{} k{} {}{} x {}{} > {} beta{}{}{}{} align {} {} {}", m, n, k, name_of(a),
                     a_transposed ? "'" : "", name_of(b), b_transposed ? "'" : "", name_of(c), accumulate ? 1 : 0,
                     fast_accumulate ? " fast" : "", scales, part, a_alignment, b_alignment, c_alignment);
}

LibraryLayouts layouts_of(const GemmProblem& p) {
  LibraryLayouts l{.first = {library_type(p.b), p.b_transposed, p.n, p.k},
                   .second = {library_type(p.a), p.a_transposed, p.k, p.m},
                   .result = {library_type(p.c), false, p.n, p.m}};
  if (p.b_transposed) std::swap(l.first.rows, l.first.columns);
  if (p.a_transposed) std::swap(l.second.rows, l.second.columns);
  return l;
}

}  // namespace octet::cuda
