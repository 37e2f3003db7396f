#include "src/ops/linear.h"

namespace octet {
namespace {

void check_same(const LinearRecipe& recipe, const char* gemm, const char* what, std::int64_t a, std::int64_t b) {
  if (a == b) return;
  throw internal_error("ops", "linear {} {}: {} is {} on one side and {} on the other", recipe.name, gemm, what, a, b);
}

GemmOperand operand(const Tensor& t, bool transposed) {
  return {.data = t.data, .dtype = t.dtype, .transposed = transposed, .inverse_scale = t.inverse_scale};
}

void run(OpContext& context, const LinearRecipe& recipe, const char* name, Gemm gemm) {
  ArenaScope scope(context.scratch);
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
                        .fast_accumulate = gemm.fast_accumulate});
  }
}

}  // namespace

void quantize_input(OpContext& context, LinearInput& x) {
  if (x.any_float8) x.quantized = quantize(context, x.high, LinearRecipe::input_format, x.scale, x.quantized.data);
}

Tensor prepare_grad_output(OpContext& context, const LinearRecipe& recipe, const Tensor& dy, const QuantScale& scale) {
  if (!recipe.float8) return dy;
  return quantize(context, dy, LinearRecipe::grad_output_format, scale, context.scratch.allocate(dy.elements()));
}

void linear_forward(OpContext& context, const LinearRecipe& recipe, const Tensor& x, const Tensor& w, const Tensor& y) {
  check_same(recipe, "output", "in", x.shape[1], w.shape[1]);
  check_same(recipe, "output", "out", y.shape[1], w.shape[0]);
  check_same(recipe, "output", "tokens", x.shape[0], y.shape[0]);
  run(context, recipe, "output",
      {.a = operand(x, false),
       .b = operand(w, true),
       .c = y.data,
       .c_dtype = y.dtype,
       .m = x.shape[0],
       .n = w.shape[0],
       .k = w.shape[1],
       .fast_accumulate = recipe.float8});
}

void linear_grad_input(OpContext& context, const LinearRecipe& recipe, const Tensor& dy, const Tensor& w,
                       const Tensor& dx, bool accumulate) {
  check_same(recipe, "grad_input", "out", dy.shape[1], w.shape[0]);
  check_same(recipe, "grad_input", "in", dx.shape[1], w.shape[1]);
  check_same(recipe, "grad_input", "tokens", dy.shape[0], dx.shape[0]);
  run(context, recipe, "grad_input",
      {.a = operand(dy, false),
       .b = operand(w, false),
       .c = dx.data,
       .c_dtype = dx.dtype,
       .m = dy.shape[0],
       .n = w.shape[1],
       .k = w.shape[0],
       .beta = accumulate ? 1.0f : 0.0f});
}

void linear_grad_weight(OpContext& context, const LinearRecipe& recipe, const Tensor& dy, const Tensor& x,
                        const Tensor& dw, bool accumulate) {
  check_same(recipe, "grad_weight", "out", dy.shape[1], dw.shape[0]);
  check_same(recipe, "grad_weight", "in", x.shape[1], dw.shape[1]);
  check_same(recipe, "grad_weight", "tokens", dy.shape[0], x.shape[0]);
  run(context, recipe, "grad_weight",
      {.a = operand(dy, true),
       .b = operand(x, false),
       .c = dw.data,
       .c_dtype = dw.dtype,
       .m = dw.shape[0],
       .n = dw.shape[1],
       .k = x.shape[0],
       .beta = accumulate ? 1.0f : 0.0f});
}

}  // namespace octet
