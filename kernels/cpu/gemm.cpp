#include "kernels/gemm.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "kernels/cpu/blocks.h"
#include "kernels/cpu/cpu_kernels.h"
#include "kernels/cpu/few_rows.h"
#include "kernels/cpu/gemm_input.h"
#include "kernels/cpu/hopper_multiply.h"
#include "kernels/cpu/multiply.h"
#include "kernels/cpu/vector.h"

namespace octet::cpu {
namespace {

/// Bytes of widened operands and fp32 results that are alive at a time: they should still be in a shared cache when
/// they are read. B may be larger, as it is widened once and read by every chunk of rows.
constexpr std::int64_t chunk_bytes = 16 << 20;
constexpr std::int64_t b_bytes = 64 << 20;

/// How one GEMM is cut. Widened operands and the fp32 result are made chunk by chunk in the workspace.
struct Plan {
  bool hopper = false;                   ///< by hopper_multiply, with all of k at a time, or with `scaled` one block
  bool scaled = false;                   ///< scales along k: the operands' values are multiplied, not their codes
  DType input = DType::f32;              ///< of oneDNN
  DType a = DType::f32, b = DType::f32;  ///< operands in the form that is multiplied
  bool widen_a = false, widen_b = false;
  bool result_apart = false;  ///< fp32 sums go to the workspace, from where finish() scales, adds and rounds them
  std::int64_t m = 0, n = 0, k = 0;  ///< extents of a chunk
  std::int64_t a_bytes = 0, b_bytes = 0, c_bytes = 0, part_bytes = 0;

  std::int64_t workspace() const { return a_bytes + b_bytes + c_bytes + part_bytes; }
};

std::int64_t padded(std::int64_t bytes) {
  return (bytes + 255) / 256 * 256;
}

/// `wanted` rows in whole panels of 64, at least 256, at most all.
std::int64_t clamp_chunk(std::int64_t wanted, std::int64_t all) {
  return std::clamp<std::int64_t>(wanted / 64 * 64, std::min<std::int64_t>(256, all), all);
}

Plan plan_of(const Gemm& args) {
  Plan plan;
  const bool narrow = args.a.dtype != DType::f32;
  plan.hopper = args.emulate_hopper && is_float8(args.a.dtype);
  plan.scaled = along_contraction(args.a.scales);
  // A code times its scale has more bits than bf16.
  plan.input = narrow && !plan.hopper && !plan.scaled && gemm_input() == GemmInput::bf16 ? DType::bf16 : DType::f32;
  plan.a = plan.hopper ? args.a.dtype : plan.input;
  plan.b = plan.hopper ? args.b.dtype : plan.input;
  plan.widen_a = args.a.dtype != plan.a;
  plan.widen_b = args.b.dtype != plan.b;
  // oneDNN's bf16 primitive scales and rounds by itself.
  plan.result_apart = plan.input == DType::f32 && (args.c_dtype != DType::f32 || is_float8(args.a.dtype));
  if (args.a.scales == ScaleForm::each || args.b.scales == ScaleForm::each) plan.result_apart = true;
  if (plan.scaled && !plan.hopper) plan.result_apart = args.c_dtype != DType::f32;
  plan.m = args.m;
  plan.n = args.n;
  plan.k = args.k;
  const std::int64_t wide = size_of(plan.input);
  if (plan.hopper) {
    plan.m = clamp_chunk(chunk_bytes / (4 * args.n), args.m);
    if (plan.scaled) plan.k = scale_block;
  } else if (plan.widen_a || plan.widen_b || plan.result_apart) {
    const bool long_sum = args.k > std::max(args.m, args.n) && plan.input == DType::f32;  // weight gradients
    if (long_sum) {
      plan.k = clamp_chunk(chunk_bytes / (wide * (args.m + args.n)), args.k);
    } else {
      if (plan.widen_b) plan.n = clamp_chunk(b_bytes / (wide * args.k), args.n);
      plan.m = clamp_chunk(chunk_bytes / (wide * args.k + 4 * plan.n), args.m);
    }
  }
  if (plan.widen_a) plan.a_bytes = padded(plan.m * plan.k * wide);
  if (plan.widen_b) plan.b_bytes = padded(plan.k * plan.n * wide);
  if (plan.result_apart) plan.c_bytes = padded(plan.m * plan.n * 4);
  if (plan.scaled && plan.hopper) plan.part_bytes = plan.c_bytes;
  return plan;
}

/// Rows and columns [row, row + rows) × [column, column + columns) of a matrix as stored, widened and packed.
template <typename To, typename From>
void widen_block(const From* x, std::int64_t stride, std::int64_t rows, std::int64_t columns, To* y) {
  if (columns == stride) {
    const auto widen = [=](std::int64_t begin, std::int64_t end) { convert_loop(x + begin, y + begin, end - begin); };
    for_blocks(rows * columns, conversion_block, widen, serial_conversion_blocks);
    return;
  }
#pragma omp parallel for schedule(static)
  for (std::int64_t r = 0; r < rows; ++r) convert_loop(x + r * stride, y + r * columns, columns);
}

/// The inverse scale of each value of a matrix as stored.
struct StoredScales {
  const float* inverse;
  ScaleForm form;
  std::int64_t kept, contracted;
  bool rows_contracted;

  /// That of (row, column); those of the next columns of its block are `step` floats apart.
  const float* at(std::int64_t row, std::int64_t column) const {
    return inverse + (rows_contracted ? scale_index(form, kept, contracted, column, row)
                                      : scale_index(form, kept, contracted, row, column));
  }
  std::int64_t step() const { return rows_contracted && form == ScaleForm::vectors ? 1 : 0; }
};

/// widen_block with a scale for each value: y = x · inverse scale in fp32.
template <typename From>
void scale_block_of(const From* x, std::int64_t stride, std::int64_t row, std::int64_t column, std::int64_t rows,
                    std::int64_t columns, const StoredScales& scales, float* y) {
#pragma omp parallel for schedule(static)
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t begin = 0; begin < columns;) {
      const std::int64_t run = std::min(scale_block - (column + begin) % scale_block, columns - begin);
      const From* __restrict from = x + r * stride + begin;
      float* __restrict to = y + r * columns + begin;
      const float* __restrict scale = scales.at(row + r, column + begin);
      if (scales.step() == 0) {
        const float one = *scale;
#pragma omp simd
        for (std::int64_t c = 0; c < run; ++c) to[c] = static_cast<float>(from[c]) * one;
      } else {
#pragma omp simd
        for (std::int64_t c = 0; c < run; ++c) to[c] = static_cast<float>(from[c]) * scale[c];
      }
      begin += run;
    }
  }
}

/// The block of an operand at (row, column) of the matrix as it enters the product, ready for oneDNN. `contracted` is
/// the dimension of that matrix along which sums run.
MultiplyOperand take_block(const GemmOperand& x, DType input, int contracted, std::int64_t all_rows,
                           std::int64_t all_columns, std::int64_t row, std::int64_t column, std::int64_t rows,
                           std::int64_t columns, void* widened) {
  const std::int64_t all_kept = contracted == 0 ? all_columns : all_rows;
  const std::int64_t all_contracted = contracted == 0 ? all_rows : all_columns;
  if (x.transposed) {
    std::swap(all_rows, all_columns);
    std::swap(row, column);
    std::swap(rows, columns);
  }
  const std::int64_t offset = row * all_columns + column;
  if (x.dtype == input) {
    return {static_cast<const std::byte*>(x.data) + offset * size_of(x.dtype), all_columns, x.transposed};
  }
  dispatch_storage_or_float8(x.dtype, [&](auto stored) {
    using From = decltype(stored);
    const From* from = static_cast<const From*>(x.data) + offset;
    if (along_contraction(x.scales)) {
      const StoredScales scales{x.inverse_scale, x.scales, all_kept, all_contracted, (contracted == 0) != x.transposed};
      scale_block_of(from, all_columns, row, column, rows, columns, scales, static_cast<float*>(widened));
    } else if (input == DType::f32) {
      widen_block(from, all_columns, rows, columns, static_cast<float*>(widened));
    } else if constexpr (sizeof(From) == 1) {
      widen_block(from, all_columns, rows, columns, static_cast<bf16*>(widened));
    }
  });
  return {widened, columns, x.transposed};
}

HopperMultiply as_hopper(const Multiply& product, const Plan& plan, bool fast) {
  return {.a = product.a,
          .b = product.b,
          .a_dtype = plan.a,
          .b_dtype = plan.b,
          .c = static_cast<float*>(product.c),
          .m = product.m,
          .n = product.n,
          .k = product.k,
          .fast = fast};
}

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

/// C = (scales of row and column) · sums (+ C) on the block of C at (row, column).
template <typename C>
void finish(const Gemm& args, const float* sums, std::int64_t row, std::int64_t column, std::int64_t rows,
            std::int64_t columns) {
  const Inverses a(args.a), b(args.b);
  const bool add = args.beta != 0.0f;
  C* c = static_cast<C*>(args.c) + row * args.n + column;
#pragma omp parallel for schedule(static)
  for (std::int64_t r = 0; r < rows; ++r) {
    const float* from = sums + r * columns;
    const float of_row = a.at(row + r);
    if (b.each == nullptr) {
      const float scale = of_row * b.all;
      finish_row(from, c + r * args.n, columns, add, [=](std::int64_t) { return scale; });
    } else {
      const float* of_column = b.each + column;
      finish_row(from, c + r * args.n, columns, add, [=](std::int64_t j) { return of_row * of_column[j]; });
    }
  }
}

/// The sums of one block of k, those of rows from `row` and columns from `column`, times their scales, enter the total.
void add_scaled(const Gemm& args, const float* part, float* total, std::int64_t row, std::int64_t column,
                std::int64_t depth, std::int64_t rows, std::int64_t columns) {
  const auto scale_of = [&](const GemmOperand& x, std::int64_t kept, std::int64_t i) {
    return x.inverse_scale[scale_index(x.scales, kept, args.k, i, depth)];
  };
#pragma omp parallel for schedule(static)
  for (std::int64_t r = 0; r < rows; ++r) {
    const float of_row = scale_of(args.a, args.m, row + r);
    const float* __restrict from = part + r * columns;
    float* __restrict to = total + r * columns;
    for (std::int64_t j = 0; j < columns; ++j) {
      const float scaled_to = depth == 0 ? 0.0f : to[j];
      to[j] = std::fma(of_row * scale_of(args.b, args.n, column + j), from[j], scaled_to);
    }
  }
}

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
  const Plan plan = plan_of(args);
  auto* a_wide = static_cast<std::byte*>(args.workspace);
  std::byte* b_wide = a_wide + plan.a_bytes;
  auto* sums = reinterpret_cast<float*>(b_wide + plan.b_bytes);
  auto* part = reinterpret_cast<float*>(b_wide + plan.b_bytes + plan.c_bytes);

  Multiply product;
  product.input = plan.input;
  product.c_dtype = plan.result_apart ? DType::f32 : args.c_dtype;
  if (plan.input == DType::bf16 && !plan.result_apart) product.scale = Inverses(args.a).all * Inverses(args.b).all;
  for (std::int64_t column = 0; column < args.n; column += plan.n) {
    product.n = std::min(plan.n, args.n - column);
    for (std::int64_t row = 0; row < args.m; row += plan.m) {
      product.m = std::min(plan.m, args.m - row);
      std::byte* c = static_cast<std::byte*>(args.c) + (row * args.n + column) * size_of(args.c_dtype);
      product.c = plan.result_apart ? static_cast<void*>(sums) : c;
      product.c_stride = plan.result_apart ? product.n : args.n;
      for (std::int64_t depth = 0; depth < args.k; depth += plan.k) {
        product.k = std::min(plan.k, args.k - depth);
        product.a = take_block(args.a, plan.a, 1, args.m, args.k, row, depth, product.m, product.k, a_wide);
        if (row == 0 || plan.k < args.k) {
          product.b = take_block(args.b, plan.b, 0, args.k, args.n, depth, column, product.k, product.n, b_wide);
        }
        product.beta = depth > 0 ? 1.0f : plan.result_apart ? 0.0f : args.beta;
        if (!plan.hopper) {
          multiply(product);
        } else if (!plan.scaled) {
          hopper_multiply(as_hopper(product, plan, args.fast_accumulate));
        } else {
          product.c = part;
          hopper_multiply(as_hopper(product, plan, args.fast_accumulate));
          add_scaled(args, part, sums, row, column, depth, product.m, product.n);
        }
      }
      if (!plan.result_apart) continue;
      if (args.c_dtype == DType::f32) {
        finish<float>(args, sums, row, column, product.m, product.n);
      } else {
        finish<bf16>(args, sums, row, column, product.m, product.n);
      }
    }
  }
}

}  // namespace octet::cpu
