#include "tests/benchmark/gpu/operands.h"

#include <vector>

namespace octet::bench {
namespace {

constexpr float some_scale = 64.0f;

GemmOperand k_contiguous(const void* data, DType format, const float* inverse_scale, ScaleForm scales) {
  return {.data = data, .dtype = format, .transposed = false, .inverse_scale = inverse_scale, .scales = scales};
}

CastToFloat8 cast_of(const Source& x, const void* from, void* to, const float* scale) {
  return {.x = from,
          .from = DType::bf16,
          .y = x.transposed ? nullptr : to,
          .to = x.format,
          .n = x.rows * x.k,
          .scale = scale,
          .y_transposed = x.transposed ? to : nullptr,
          .columns = x.transposed ? x.rows : x.k};
}

}  // namespace

Operand stored(Case& c, DType dtype, std::int64_t rows, std::int64_t k, bool transposed, ScaleForm scales) {
  GemmOperand operand{.data = c.random(dtype, rows * k), .dtype = dtype, .transposed = transposed};
  if (!is_float8(dtype)) return {operand};
  operand.inverse_scale = c.values(1 / some_scale, scale_count(scales, rows, k));
  operand.scales = scales;
  return {operand};
}

Operand cast_dynamic(Case& c, const Source& x) {
  const std::int64_t n = x.rows * x.k;
  const void* from = c.random(DType::bf16, n);
  void* to = c.output(n);
  auto *amax = c.values(0.0f), *scale = c.output<float>(1), *inverse = c.output<float>(1);
  auto* counter = static_cast<std::uint32_t*>(c.zeros(4));
  const Stats stats{.x = from, .dtype = DType::bf16, .n = n, .out = {.amax = amax, .non_finite = counter}};
  CastToFloat8 cast = cast_of(x, from, to, scale);
  cast.amax = amax, cast.scale_out = scale, cast.inverse_scale_out = inverse;
  return {k_contiguous(to, x.format, inverse, ScaleForm::tensor), [=](const Place& p) {
            p.kernels.stats(p.stream, stats);
            p.kernels.cast_to_float8(p.stream, cast);
          }};
}

Operand cast_delayed(Case& c, const Source& x) {
  const std::int64_t n = x.rows * x.k;
  const void* from = c.random(DType::bf16, n);
  void* to = c.output(n);
  const CastToFloat8 cast = cast_of(x, from, to, c.values(some_scale));
  return {k_contiguous(to, x.format, c.values(1 / some_scale), ScaleForm::tensor),
          [=](const Place& p) { p.kernels.cast_to_float8(p.stream, cast); }};
}

Operand cast_rowwise(Case& c, const Source& x) {
  const std::int64_t n = x.rows * x.k;
  const RowwiseForm form{.y = c.output(n), .scale = c.output<float>(x.rows), .inverse_scale = c.output<float>(x.rows)};
  const QuantizeRowwise cast{.x = c.random(DType::bf16, n),
                             .from = DType::bf16,
                             .rows = x.transposed ? x.k : x.rows,
                             .columns = x.transposed ? x.rows : x.k,
                             .to = x.format,
                             .power_of_two = true,
                             .by_row = x.transposed ? RowwiseForm{} : form,
                             .by_column = x.transposed ? form : RowwiseForm{},
                             .column_transposed = true};
  return {k_contiguous(form.y, x.format, form.inverse_scale, ScaleForm::each),
          [=](const Place& p) { p.kernels.quantize_rowwise(p.stream, cast); }};
}

Operand cast_vectors(Case& c, const Source& x) {
  const std::int64_t n = x.rows * x.k;
  const BlockwiseForm form{.y = c.output(n),
                           .inverse_scale = c.output<float>(scale_count(ScaleForm::vectors, x.rows, x.k))};
  const QuantizeVectors cast{.x = c.random(DType::bf16, n),
                             .from = DType::bf16,
                             .rows = x.transposed ? x.k : x.rows,
                             .columns = x.transposed ? x.rows : x.k,
                             .to = x.format,
                             .power_of_two = true,
                             .by_row = x.transposed ? BlockwiseForm{} : form,
                             .by_column = x.transposed ? form : BlockwiseForm{},
                             .column_transposed = true};
  return {k_contiguous(form.y, x.format, form.inverse_scale, ScaleForm::vectors),
          [=](const Place& p) { p.kernels.quantize_vectors(p.stream, cast); }};
}

Operand cast_blocks(Case& c, const Source& x) {
  const std::int64_t n = x.rows * x.k;
  auto* inverse = c.output<float>(scale_count(ScaleForm::blocks, x.rows, x.k));
  void* y = c.output(n);
  const QuantizeBlocks cast{.x = c.random(DType::bf16, n),
                            .from = DType::bf16,
                            .rows = x.transposed ? x.k : x.rows,
                            .columns = x.transposed ? x.rows : x.k,
                            .to = x.format,
                            .power_of_two = true,
                            .y = x.transposed ? nullptr : y,
                            .y_transposed = x.transposed ? y : nullptr,
                            .inverse_scale_by_row = x.transposed ? nullptr : inverse,
                            .inverse_scale_by_column = x.transposed ? inverse : nullptr};
  return {k_contiguous(y, x.format, inverse, ScaleForm::blocks),
          [=](const Place& p) { p.kernels.quantize_blocks(p.stream, cast); }};
}

}  // namespace octet::bench
