// Rows of the tensor cores: GEMM and attention.
#include <cmath>

#include "src/base/error.h"
#include "tests/benchmark/gpu/cases.h"

namespace octet::bench {
namespace {

/// Storage and formats of the three GEMMs of a linear.
struct Form {
  bool a_transposed = false;  ///< as a bf16 linear stores it; fp8 operands always have k contiguous
  bool b_transposed = false;
  DType a_float8 = DType::e4m3;
  DType c = DType::bf16;
};

Form form_named(const std::string& name) {
  if (name == "forward") return {.b_transposed = true};
  if (name == "grad_input") return {.a_float8 = DType::e5m2};
  if (name == "grad_weight") return {.a_transposed = true, .a_float8 = DType::e5m2, .c = DType::f32};
  throw usage_error("benchmark", "form {}: expected forward, grad_input or grad_weight", name);
}

/// An operand of [rows, k], from a bf16 tensor whose abs-max is not known yet: a pass for the abs-max, the scale, the
/// cast. `transposed`: the tensor is stored [k, rows], and the cast writes its transpose alone, as PyTorch's side does.
struct Quantise {
  Stats stats;
  ComputeScales scales;
  CastToFloat8 cast;
  GemmOperand operand;

  Quantise(Case& c, std::int64_t rows, std::int64_t k, DType format, bool transposed) {
    const std::int64_t n = rows * k;
    const void* x = c.random(DType::bf16, n);
    auto *amax = c.output<float>(1), *scale = c.output<float>(1), *inverse = c.output<float>(1);
    auto* counter = static_cast<std::uint32_t*>(c.zeros(4));
    void* y = c.output(n);
    stats = {.x = x, .dtype = DType::bf16, .n = n, .out = {.amax = amax, .non_finite = counter}};
    scales = {.amax = amax, .scale = scale, .inverse_scale = inverse, .n = 1, .format = format};
    cast = {.x = x,
            .from = DType::bf16,
            .y = transposed ? nullptr : y,
            .to = format,
            .n = n,
            .scale = scale,
            .y_transposed = transposed ? y : nullptr,
            .columns = transposed ? rows : k};
    operand = {.data = y, .dtype = format, .transposed = false, .inverse_scale = inverse};
  }
  void launch(const Place& p) const {
    p.kernels.stats(p.stream, stats);
    p.kernels.compute_scales(p.stream, scales);
    p.kernels.cast_to_float8(p.stream, cast);
  }
};

GemmOperand stored_operand(Case& c, DType dtype, std::int64_t n, bool transposed) {
  return {.data = c.random(dtype, n),
          .dtype = dtype,
          .transposed = transposed,
          .inverse_scale = is_float8(dtype) ? c.value(1.0f / 64) : nullptr};
}

AttentionForward attention(Case& c, const Row& row) {
  const AttentionShape s{.batch = row.at("batch"),
                         .seq = row.at("seq"),
                         .heads = row.at("heads"),
                         .kv_heads = row.at("kv_heads"),
                         .head_dim = row.at("head_dim"),
                         .scale = 1.0f / std::sqrt(row.at("head_dim").get<float>()),
                         .dtype = DType::bf16};
  const std::int64_t rows = s.batch * s.seq, q = rows * s.heads * s.head_dim, k = rows * s.kv_heads * s.head_dim;
  AttentionForward args{.shape = s};
  args.q = c.random(DType::bf16, q);
  args.k = c.random(DType::bf16, k);
  args.v = c.random(DType::bf16, k);
  args.o = c.output(2 * q);
  args.log_sum_exp = c.output<float>(rows * s.heads);
  args.workspace = c.output(c.place().kernels.attention_forward_workspace(args));
  return args;
}

}  // namespace

/// "m", "n", "k", "form"; "beta": 1 adds to c; "mode": bf16, fp8 (the product alone) or fp8_casts (both operands
/// quantised from bf16, too).
void make_gemm(Case& c, const Row& row) {
  const Form form = form_named(row.at("form"));
  const std::string mode = row.at("mode");
  Gemm args;
  args.c_dtype = form.c;
  args.m = row.at("m");
  args.n = row.at("n");
  args.k = row.at("k");
  args.c = c.zeros(args.m * args.n * size_of(form.c));
  args.beta = row.value("beta", 0.0f);
  args.fast_accumulate = mode != "bf16" && row.at("form") == "forward";
  const auto finish = [&](auto before) {
    args.workspace_bytes = c.place().kernels.gemm_workspace(args);
    args.workspace = c.output(args.workspace_bytes);
    c.set([p = c.place(), args, before] {
      before(p);
      p.kernels.gemm(p.stream, args);
    });
  };
  if (mode == "fp8_casts") {
    const Quantise a(c, args.m, args.k, form.a_float8, form.a_transposed);
    const Quantise b(c, args.n, args.k, DType::e4m3, !form.b_transposed);
    args.a = a.operand;
    args.b = b.operand;
    args.b.transposed = true;
    return finish([a, b](const Place& p) {
      a.launch(p);
      b.launch(p);
    });
  }
  if (mode != "bf16" && mode != "fp8") {
    throw usage_error("benchmark", "mode {}: expected bf16, fp8 or fp8_casts", mode);
  }
  const bool fp8 = mode == "fp8";
  args.a = stored_operand(c, fp8 ? form.a_float8 : DType::bf16, args.m * args.k, !fp8 && form.a_transposed);
  args.b = stored_operand(c, fp8 ? DType::e4m3 : DType::bf16, args.n * args.k, fp8 || form.b_transposed);
  finish([](const Place&) {});
}

/// "batch", "seq", "heads", "kv_heads", "head_dim"; causal, bf16.
void make_attention_forward(Case& c, const Row& row) {
  const AttentionForward args = attention(c, row);
  c.set([p = c.place(), args] { p.kernels.attention_forward(p.stream, args); });
}

void make_attention_backward(Case& c, const Row& row) {
  const AttentionForward forward = attention(c, row);
  const AttentionShape& s = forward.shape;
  const std::int64_t rows = s.batch * s.seq, q = rows * s.heads * s.head_dim, k = rows * s.kv_heads * s.head_dim;
  c.place().kernels.attention_forward(c.place().stream, forward);
  AttentionBackward args{.shape = s, .q = forward.q, .k = forward.k, .v = forward.v, .o = forward.o};
  args.d_o = c.random(DType::bf16, q);
  args.log_sum_exp = forward.log_sum_exp;
  args.dq = c.output(2 * q);
  args.dk = c.output(2 * k);
  args.dv = c.output(2 * k);
  args.workspace = c.output(c.place().kernels.attention_backward_workspace(args));
  c.set([p = c.place(), args] { p.kernels.attention_backward(p.stream, args); });
}

}  // namespace octet::bench
