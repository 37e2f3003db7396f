#include "src/ops/linear.h"

#include <array>

#include "src/ops/rowwise.h"

namespace octet {
namespace {

void check_same(const LinearRecipe& recipe, const char* gemm, const char* what, std::int64_t a, std::int64_t b) {
  if (a == b) return;
  throw internal_error("ops", "linear {} {}: {} is {} on one side and {} on the other", recipe.name, gemm, what, a, b);
}

/// Whether a GEMM of these operands reads them along k only.
bool k_major(const OpContext& context, const Tensor& operand) {
  return context.kernels.float8_gemm_k_major && is_float8(operand.dtype);
}

void check_transposed(const LinearRecipe& recipe, const char* what, const GradOperand& x) {
  if (x.for_weight.shape == Shape{x.rows.shape[1], x.rows.shape[0]}) return;
  throw internal_error("ops", "linear {} grad_weight: {} {} has no transposed copy, but {}", recipe.name, what,
                       x.rows.shape.text(), x.for_weight.shape.text());
}

/// No GEMM falls back to another format in silence.
void check_format(const LinearRecipe& recipe, const char* gemm, const char* what, const Tensor& x, bool float8) {
  if (is_float8(x.dtype) == float8) return;
  throw internal_error("ops", "linear {} {}: {} is {}, expected {}", recipe.name, gemm, what, name_of(x.dtype),
                       float8 ? "fp8" : "no fp8");
}

/// The form of x that the weight's gradient reads. Linears that share an input may differ in it.
const Tensor& weight_form(const LinearRecipe& recipe, const GradOperand& x) {
  const bool apart = x.for_weight.shape.rank() != 0 && is_float8(x.for_weight.dtype) == recipe.float8_grad_weight();
  return apart ? x.for_weight : x.rows;
}

/// `kept`: the dimension of t that the product keeps, along which alone it may have several scales.
GemmOperand operand(const Tensor& t, bool transposed, int kept) {
  if (t.scale_form != ScaleForm::tensor && t.scale_dim != kept) {
    throw internal_error("ops", "a GEMM contracts {} {} along its scales, dimension {}", name_of(t.dtype),
                         t.shape.text(), t.scale_dim);
  }
  return {.data = t.data,
          .dtype = t.dtype,
          .transposed = transposed,
          .inverse_scale = t.inverse_scale,
          .scales = t.scale_form};
}

/// [m, k], or stored [k, m].
GemmOperand operand_a(const Tensor& t, bool transposed) {
  return operand(t, transposed, transposed ? 1 : 0);
}

/// [k, n], or stored [n, k].
GemmOperand operand_b(const Tensor& t, bool transposed) {
  return operand(t, transposed, transposed ? 0 : 1);
}

void run(OpContext& context, const LinearRecipe& recipe, const char* name, Gemm gemm) {
  ArenaScope scope(context.scratch);
  gemm.emulate_hopper = recipe.float8 && recipe.sums.emulate_hopper;
  gemm.workspace_bytes = context.kernels.gemm_workspace(gemm);
  gemm.workspace = context.scratch.allocate(gemm.workspace_bytes);
  context.kernels.gemm(context.stream, gemm);
  if (context.gemms != nullptr) {
    context.gemms->add({.unit = {},
                        .linear = std::string(recipe.name),
                        .gemm = name,
                        .m = gemm.m,
                        .n = gemm.n,
                        .k = gemm.k,
                        .a = gemm.a.dtype,
                        .b = gemm.b.dtype,
                        .c = gemm.c_dtype,
                        .fast_accumulate = gemm.fast_accumulate,
                        .emulate_hopper = gemm.emulate_hopper,
                        .a_scale_each = gemm.a.scales == ScaleForm::each,
                        .b_scale_each = gemm.b.scales == ScaleForm::each});
  }
}

}  // namespace

void quantize_input(OpContext& context, LinearInput& x) {
  if (x.any_float8) x.quantized = quantize(context, x.high, LinearRecipe::input_format, x.scale, x.quantized.data);
  x.all_high = x.high;
  x.all_quantized = x.quantized;
}

void quantize_input_again(OpContext& context, LinearInput& x) {
  if (x.any_float8) x.quantized = cast(context, x.high, LinearRecipe::input_format, x.scale, x.quantized.data);
  x.all_high = x.high;
  x.all_quantized = x.quantized;
}

void gather_input(OpContext& context, LinearInput& x, const RowsWork& work) {
  std::array<Exchange::Gather, 2> gathers;
  std::size_t n = 0;
  const auto gather = [&](const Tensor& local) {
    gathers[n] = gather_of(context, local, x.keep_all);
    return gathers[n++].whole;
  };
  if (x.keep_high) x.all_high = gather(x.high);
  if (x.any_float8) x.all_quantized = gather(x.quantized);
  gather_rows(context, std::span(gathers).first(n), work);
}

void gather_input(OpContext& context, LinearInput& x) {
  const auto gather = [&](const Tensor& local) {
    return x.keep_all ? gather_around(context, local) : gather_rows(context, local);
  };
  if (x.keep_high) x.all_high = gather(x.high);
  if (x.any_float8) x.all_quantized = gather(x.quantized);
}

LinearInput forward_input(OpContext& context, LinearInput x) {
  if (x.any_rowwise) x.all_quantized = quantize_by_row(context, x.all_high);
  return x;
}

GradOperand prepare_grad_output(OpContext& context, const LinearRecipe& recipe, const Tensor& dy,
                                const QuantScale& scale) {
  if (!recipe.float8) return dy;
  if (recipe.rowwise()) return quantize_grad_output(context, recipe, dy);
  void* storage = context.scratch.allocate(dy.elements());
  if (!context.kernels.float8_gemm_k_major) {
    return quantize(context, dy, recipe.grad_output_format(), scale, storage);
  }
  void* transposed = context.scratch.allocate(dy.elements());
  const Tensor rows = quantize(context, dy, recipe.grad_output_format(), scale, storage, transposed);
  return {rows, {transposed, rows.dtype, {dy.shape[1], dy.shape[0]}, rows.inverse_scale}};
}

GradOperand gather_grad_output(OpContext& context, const LinearRecipe& recipe, const Tensor& dy,
                               const QuantScale& scale, const GradRowsWork& work) {
  if (context.exchange.part().count == 1 || recipe.rowwise()) {
    GradOperand all = prepare_grad_output(context, recipe, gather_rows(context, dy), scale);
    work(all.rows, 0);
    return all;
  }
  Tensor local = dy;
  if (recipe.float8) {
    void* storage = context.scratch.allocate(dy.elements());
    local = quantize(context, dy, recipe.grad_output_format(), scale, storage);
  }
  const Exchange::Gather gather = gather_of(context, local, false);
  gather_rows(context, std::span(&gather, 1),
              [&](std::int64_t first, std::int64_t count) { work(gather.whole.rows(first, count), first); });
  const bool turned = recipe.float8 && context.kernels.float8_gemm_k_major;
  return {gather.whole, turned ? transpose(context, gather.whole) : Tensor{}};
}

Tensor transpose_input(OpContext& context, const LinearInput& x) {
  if (x.any_rowwise_grad_weight) return quantize_by_column(context, x.all_high);
  return x.any_float8 && context.kernels.float8_gemm_k_major ? transpose(context, x.all_quantized) : Tensor{};
}

void linear_forward(OpContext& context, const LinearRecipe& recipe, const Tensor& x, const Tensor& w, const Tensor& y) {
  check_same(recipe, "output", "in", x.shape[1], w.shape[1]);
  check_same(recipe, "output", "out", y.shape[1], w.shape[0]);
  check_same(recipe, "output", "tokens", x.shape[0], y.shape[0]);
  check_format(recipe, "output", "x", x, recipe.float8);
  const ArenaScope scope(context.scratch);
  const Tensor weight = recipe.rowwise() ? quantize_by_row(context, w) : w;
  check_format(recipe, "output", "w", weight, recipe.float8);
  run(context, recipe, "output",
      {.a = operand_a(x, false),
       .b = operand_b(weight, true),
       .c = y.data,
       .c_dtype = y.dtype,
       .m = x.shape[0],
       .n = w.shape[0],
       .k = w.shape[1],
       .fast_accumulate = recipe.float8 && recipe.sums.fast_output});
}

void linear_grad_input(OpContext& context, const LinearRecipe& recipe, const Tensor& dy, const Tensor& w,
                       const Tensor& dx, bool accumulate) {
  const ArenaScope scope(context.scratch);
  linear_grad_input(context, recipe, dy, weight_for_grad_input(context, recipe, w), dx, accumulate);
}

GradInputWeight weight_for_grad_input(OpContext& context, const LinearRecipe& recipe, const Tensor& w) {
  if (recipe.rowwise()) return {quantize_weight_for_input(context, recipe, w), w.shape};
  check_format(recipe, "grad_input", "w", w, recipe.float8);
  return {k_major(context, w) ? transpose(context, w) : w, w.shape};
}

void linear_grad_input(OpContext& context, const LinearRecipe& recipe, const Tensor& dy, const GradInputWeight& w,
                       const Tensor& dx, bool accumulate) {
  check_same(recipe, "grad_input", "out", dy.shape[1], w.shape[0]);
  check_same(recipe, "grad_input", "in", dx.shape[1], w.shape[1]);
  check_same(recipe, "grad_input", "tokens", dy.shape[0], dx.shape[0]);
  check_format(recipe, "grad_input", "dy", dy, recipe.float8);
  check_format(recipe, "grad_input", "w", w.as_read, recipe.float8);
  run(context, recipe, "grad_input",
      {.a = operand_a(dy, false),
       .b = operand_b(w.as_read, k_major(context, w.as_read)),
       .c = dx.data,
       .c_dtype = dx.dtype,
       .m = dy.shape[0],
       .n = w.shape[1],
       .k = w.shape[0],
       .beta = accumulate ? 1.0f : 0.0f,
       .fast_accumulate = recipe.float8 && recipe.sums.fast_gradients});
}

void linear_grad_weight(OpContext& context, const LinearRecipe& recipe, const GradOperand& dy, const GradOperand& x,
                        const Tensor& dw, bool accumulate) {
  check_same(recipe, "grad_weight", "out", dy.rows.shape[1], dw.shape[0]);
  check_same(recipe, "grad_weight", "in", x.rows.shape[1], dw.shape[1]);
  check_same(recipe, "grad_weight", "tokens", dy.rows.shape[0], x.rows.shape[0]);
  const Tensor &a = weight_form(recipe, dy), &b = weight_form(recipe, x);
  check_format(recipe, "grad_weight", "dy", a, recipe.float8_grad_weight());
  check_format(recipe, "grad_weight", "x", b, recipe.float8_grad_weight());
  const bool turned = k_major(context, a);
  if (turned) {
    check_transposed(recipe, "dy", dy);
    check_transposed(recipe, "x", x);
  }
  run(context, recipe, "grad_weight",
      {.a = operand_a(a, !turned),
       .b = operand_b(b, turned),
       .c = dw.data,
       .c_dtype = dw.dtype,
       .m = dw.shape[0],
       .n = dw.shape[1],
       .k = x.rows.shape[0],
       .beta = accumulate ? 1.0f : 0.0f,
       .fast_accumulate = recipe.float8 && recipe.sums.fast_gradients});
}

}  // namespace octet
