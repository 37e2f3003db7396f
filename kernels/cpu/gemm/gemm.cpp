#include "kernels/gemm.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "kernels/cpu/cpu_kernels.h"
#include "kernels/cpu/gemm/few_rows.h"
#include "kernels/cpu/gemm/gemm_blocks.h"
#include "kernels/cpu/gemm/gemm_plan.h"
#include "kernels/cpu/gemm/hopper_multiply.h"
#include "kernels/cpu/gemm/multiply.h"
#include "kernels/cpu/parts/blocks.h"
#include "kernels/cpu/parts/vector.h"

namespace octet::cpu {
namespace {

/// The inverse scales of an operand that its sums are multiplied by.
struct Inverses {
  const float* each = nullptr;
  float all = 1.0f;

  explicit Inverses(const GemmOperand& x) {
    if (!is_float8(x.dtype) || x.inverse_scale == nullptr || along_contraction(x.scales)) return;
    x.scales == ScaleForm::each ? void(each = x.inverse_scale) : void(all = *x.inverse_scale);
  }
  float at(std::int64_t i) const { return each == nullptr ? all : each[i]; }
};

/// to = factor(j) · from (+ to).
template <typename C, typename Factor>
void finish_row(const float* __restrict from, C* __restrict to, std::int64_t columns, bool add, Factor factor) {
  if (add) {  // NOLINT(bugprone-branch-clone): it does not look behind the directives
#pragma omp simd
    for (std::int64_t j = 0; j < columns; ++j) store(to[j], factor(j) * from[j] + static_cast<float>(to[j]));
  } else {
#pragma omp simd
    for (std::int64_t j = 0; j < columns; ++j) store(to[j], factor(j) * from[j]);
  }
}

/// C = (scales of row and column) · sums (+ C) on a block of C, whose sums are packed.
template <typename C>
void finish(const Gemm& args, const float* sums, const BlockPlace& place) {
  const Inverses a(args.a), b(args.b);
  const bool add = args.beta != 0.0f;
  C* c = static_cast<C*>(args.c) + place.row * args.n + place.column;
#pragma omp parallel for schedule(static)
  for (std::int64_t r = 0; r < place.rows; ++r) {
    const float* from = sums + r * place.columns;
    const float of_row = a.at(place.row + r);
    if (b.each == nullptr) {
      const float scale = of_row * b.all;
      finish_row(from, c + r * args.n, place.columns, add, [=](std::int64_t) { return scale; });
    } else {
      const float* of_column = b.each + place.column;
      finish_row(from, c + r * args.n, place.columns, add, [=](std::int64_t j) { return of_row * of_column[j]; });
    }
  }
}

/// The sums of the block of k from `depth` on, for a block of C, times their scales, enter the total.
void add_scaled(const Gemm& args, const float* block_sums, float* total, const BlockPlace& place, std::int64_t depth) {
  const auto scale_of = [&](const GemmOperand& x, std::int64_t kept, std::int64_t i) {
    return x.inverse_scale[scale_index(x.scales, kept, args.k, i, depth)];
  };
#pragma omp parallel for schedule(static)
  for (std::int64_t r = 0; r < place.rows; ++r) {
    const float of_row = scale_of(args.a, args.m, place.row + r);
    const float* __restrict from = block_sums + r * place.columns;
    float* __restrict to = total + r * place.columns;
    for (std::int64_t j = 0; j < place.columns; ++j) {
      const float scaled_to = depth == 0 ? 0.0f : to[j];
      to[j] = std::fma(of_row * scale_of(args.b, args.n, place.column + j), from[j], scaled_to);
    }
  }
}

/// A product that is computed by its plan, chunk by chunk of C.
class ChunkedGemm {
 public:
  explicit ChunkedGemm(const Gemm& args)
      : args_(args),
        plan_(plan_of(args)),
        a_widened_(static_cast<std::byte*>(args.workspace)),
        b_widened_(a_widened_ + plan_.a_bytes),
        sums_(reinterpret_cast<float*>(b_widened_ + plan_.b_bytes)),
        block_sums_(reinterpret_cast<float*>(b_widened_ + plan_.b_bytes + plan_.sums_bytes)) {
    product_.input = plan_.input;
    product_.c_dtype = plan_.sums_apart ? DType::f32 : args.c_dtype;
    if (plan_.input == DType::bf16 && !plan_.sums_apart) product_.scale = Inverses(args.a).all * Inverses(args.b).all;
  }

  /// Rows are the inner loop: B, widened once, serves all of them.
  void run() {
    for (std::int64_t column = 0; column < args_.n; column += plan_.chunk_n) {
      for (std::int64_t row = 0; row < args_.m; row += plan_.chunk_m) {
        compute_chunk({.row = row,
                       .column = column,
                       .rows = std::min(plan_.chunk_m, args_.m - row),
                       .columns = std::min(plan_.chunk_n, args_.n - column)});
      }
    }
  }

 private:
  void compute_chunk(const BlockPlace& place) {
    product_.m = place.rows;
    product_.n = place.columns;
    product_.c_stride = plan_.sums_apart ? place.columns : args_.n;
    for (std::int64_t depth = 0; depth < args_.k; depth += plan_.chunk_k) {
      product_.k = std::min(plan_.chunk_k, args_.k - depth);
      take_operands(place, depth);
      multiply_into_sums(place, depth);
    }
    if (!plan_.sums_apart) return;
    args_.c_dtype == DType::f32 ? finish<float>(args_, sums_, place) : finish<bf16>(args_, sums_, place);
  }

  void take_operands(const BlockPlace& place, std::int64_t depth) {
    product_.a = take_block(matrix_a(args_), plan_.a_form, {place.row, depth, place.rows, product_.k}, a_widened_);
    const bool b_stands = place.row > 0 && plan_.chunk_k == args_.k;  // the chunk of rows before has read the same
    if (b_stands) return;
    product_.b =
        take_block(matrix_b(args_), plan_.b_form, {depth, place.column, product_.k, place.columns}, b_widened_);
  }

  /// The products of one range of k enter the sums, or C where those are not apart.
  void multiply_into_sums(const BlockPlace& place, std::int64_t depth) {
    if (plan_.hopper && plan_.scales_along_k) {
      multiply_as_hopper(block_sums_);
      add_scaled(args_, block_sums_, sums_, place, depth);
    } else if (plan_.hopper) {
      multiply_as_hopper(sums_);
    } else {
      product_.c = plan_.sums_apart ? static_cast<void*>(sums_) : address_in_c(place);
      product_.beta = depth > 0 ? 1.0f : plan_.sums_apart ? 0.0f : args_.beta;
      multiply(product_);
    }
  }

  void multiply_as_hopper(float* sums) const {
    hopper_multiply({.a = product_.a,
                     .b = product_.b,
                     .a_dtype = plan_.a_form,
                     .b_dtype = plan_.b_form,
                     .c = sums,
                     .m = product_.m,
                     .n = product_.n,
                     .k = product_.k,
                     .fast = args_.fast_accumulate});
  }

  std::byte* address_in_c(const BlockPlace& place) const {
    return static_cast<std::byte*>(args_.c) + (place.row * args_.n + place.column) * size_of(args_.c_dtype);
  }

  const Gemm& args_;
  GemmPlan plan_;
  // The parts of the workspace, as GemmPlan has them.
  std::byte* a_widened_;
  std::byte* b_widened_;
  float* sums_;
  float* block_sums_;
  Multiply product_;  ///< of the range of k that is computed
};

/// Without a sum to add, C is cleared or left alone.
void multiply_nothing(const Gemm& args) {
  if (args.beta != 0.0f) return;
  auto* c = static_cast<std::byte*>(args.c);
  std::fill(c, c + args.m * args.n * size_of(args.c_dtype), std::byte{0});
}

}  // namespace

std::int64_t gemm_workspace(const Gemm& args) {
  if (args.m == 0 || args.n == 0 || args.k == 0) return 0;
  if (is_few_rows(args)) return few_rows_workspace(args);
  // Enough for the same product with fewer rows: what remains of rows that are computed in chunks.
  return std::max(plan_of(args).workspace(), could_be_few_rows(args) ? few_rows_workspace(args) : 0);
}

void gemm(Stream&, const Gemm& args) {
  if (args.m == 0 || args.n == 0) return;
  if (args.k == 0) return multiply_nothing(args);
  check_operands(args);
  if (const std::int64_t needed = gemm_workspace(args); args.workspace_bytes < needed) {
    throw internal_error("kernels", "gemm of m {} n {} k {} has {} bytes of workspace and needs {}", args.m, args.n,
                         args.k, args.workspace_bytes, needed);
  }
  if (is_few_rows(args)) return few_rows_gemm(args);
  ChunkedGemm(args).run();
}

}  // namespace octet::cpu
