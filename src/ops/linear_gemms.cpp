#include "src/ops/linear_gemms.h"

namespace octet {
namespace {

struct Check {
  const LinearRecipe& linear;
  const char* gemm;

  void same(const char* what, std::int64_t a, std::int64_t b) const {
    if (a == b) return;
    throw internal_error("ops", "linear {} {}: {} is {} on one side and {} on the other", linear.name, gemm, what, a,
                         b);
  }
  /// No GEMM falls back to another format in silence.
  void format(const char* what, const Tensor& x, bool float8) const {
    if (is_float8(x.dtype) == float8) return;
    throw internal_error("ops", "linear {} {}: {} is {}, expected {}", linear.name, gemm, what, name_of(x.dtype),
                         float8 ? "fp8" : "no fp8");
  }
};

/// Whether a GEMM reads this operand along k only, so that what it contracts over its rows is a transposed copy.
bool k_major(const OpContext& op, const Tensor& operand) {
  return op.kernels.float8_gemm_k_major && is_float8(operand.dtype);
}

bool fast(const LinearRecipe& linear, bool wanted) {
  return wanted && linear.float8() && linear->may_sum_fast();
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

void run(OpContext& op, const LinearRecipe& linear, const char* name, Gemm gemm) {
  const ArenaScope scope(op.scratch);
  gemm.emulate_hopper = linear->sums().emulate_hopper;
  gemm.multiprocessors = op.gemm_multiprocessors;
  gemm.workspace_bytes = op.kernels.gemm_workspace(gemm);
  gemm.workspace = op.scratch.allocate(gemm.workspace_bytes);
  op.kernels.gemm(op.stream, gemm);
  if (op.gemms != nullptr) {
    op.gemms->add({.unit = {},
                   .linear = std::string(linear.name),
                   .gemm = name,
                   .m = gemm.m,
                   .n = gemm.n,
                   .k = gemm.k,
                   .a = gemm.a.dtype,
                   .b = gemm.b.dtype,
                   .c = gemm.c_dtype,
                   .fast_accumulate = gemm.fast_accumulate,
                   .emulate_hopper = gemm.emulate_hopper,
                   .a_scales = gemm.a.scales,
                   .b_scales = gemm.b.scales});
  }
}

}  // namespace

void linear_forward(OpContext& op, const LinearRecipe& linear, const Tensor& x, const Tensor& w, const Tensor& y) {
  const Check check{linear, "output"};
  check.same("in", x.shape[1], w.shape[1]);
  check.same("out", y.shape[1], w.shape[0]);
  check.same("tokens", x.shape[0], y.shape[0]);
  check.format("x", x, linear.float8());
  check.format("w", w, linear.float8());
  run(op, linear, check.gemm,
      {.a = operand_a(x, false),
       .b = operand_b(w, true),
       .c = y.data,
       .c_dtype = y.dtype,
       .m = x.shape[0],
       .n = w.shape[0],
       .k = w.shape[1],
       .fast_accumulate = fast(linear, linear->sums().fast_output)});
}

void linear_grad_input(OpContext& op, const LinearRecipe& linear, const Tensor& dy, const Tensor& w, const Tensor& dx,
                       bool accumulate) {
  const Check check{linear, "grad_input"};
  const bool transposed = k_major(op, w);
  const std::int64_t out = w.shape[transposed ? 1 : 0], in = w.shape[transposed ? 0 : 1];
  check.same("out", dy.shape[1], out);
  check.same("in", dx.shape[1], in);
  check.same("tokens", dy.shape[0], dx.shape[0]);
  check.format("dy", dy, linear.float8());
  check.format("w", w, linear.float8());
  run(op, linear, check.gemm,
      {.a = operand_a(dy, false),
       .b = operand_b(w, transposed),
       .c = dx.data,
       .c_dtype = dx.dtype,
       .m = dy.shape[0],
       .n = in,
       .k = out,
       .beta = accumulate ? 1.0f : 0.0f,
       .fast_accumulate = fast(linear, linear->sums().fast_gradients)});
}

void linear_grad_weight(OpContext& op, const LinearRecipe& linear, const Tensor& dy, const Tensor& x, const Tensor& dw,
                        bool accumulate) {
  const Check check{linear, "grad_weight"};
  const bool transposed = k_major(op, dy);
  const int outer = transposed ? 0 : 1, tokens = transposed ? 1 : 0;
  check.same("out", dy.shape[outer], dw.shape[0]);
  check.same("in", x.shape[outer], dw.shape[1]);
  check.same("tokens", dy.shape[tokens], x.shape[tokens]);
  check.format("dy", dy, linear->float8_grad_weight());
  check.format("x", x, linear->float8_grad_weight());
  if (dw.dtype != DType::f32 && (dw.dtype != DType::bf16 || accumulate)) {
    throw internal_error("ops", "linear {} {}: dw is {}{}; expected f32, or bf16 that is written once", linear.name,
                         check.gemm, name_of(dw.dtype), accumulate ? " and added to" : "");
  }
  run(op, linear, check.gemm,
      {.a = operand_a(dy, !transposed),
       .b = operand_b(x, transposed),
       .c = dw.data,
       .c_dtype = dw.dtype,
       .m = dw.shape[0],
       .n = dw.shape[1],
       .k = x.shape[tokens],
       .beta = accumulate ? 1.0f : 0.0f,
       .fast_accumulate = fast(linear, linear->sums().fast_gradients)});
}

}  // namespace octet
