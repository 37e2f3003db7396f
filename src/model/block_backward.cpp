#include <initializer_list>
#include <optional>

#include "src/model/block.h"
#include "src/model/tensors.h"
#include "src/ops/norm.h"
#include "src/ops/rows.h"

namespace octet {
namespace {

/// The block's weights, gradients and recipes by linear, and the two GEMMs that every linear runs in backward.
struct Backward {
  const BlockPass& pass;
  int unit;
  std::span<const Tensor> weights;
  std::span<const GradientTarget> gradients;

  OpContext& op() const { return pass.op; }
  const LinearRecipe& recipe(BlockLinear l) const { return pass.recipes[static_cast<std::size_t>(l)]; }
  /// Of the linear's output gradient.
  QuantScale scale(BlockLinear l) const { return pass.scales.gradient(pass.recipes, l, op().scratch); }
  std::uint32_t* counter(CheckedTensor t) const { return pass.checks.counter(unit, t); }
  /// Of all tokens.
  Tensor scratch(std::int64_t columns) const {
    return take(op().scratch, pass.shape.storage, pass.shape.tokens(), columns);
  }
  /// Of this rank's rows.
  Tensor scratch_rows() const { return take(op().scratch, pass.shape.storage, pass.shape.rows(), pass.model.dim); }

  const Tensor& weight(BlockLinear l) const { return weights[static_cast<std::size_t>(slot_of(l))]; }

  /// dw (+)= dyᵀ x. `x_transposed` is what transpose_input makes of x.
  void grad_weight(BlockLinear l, const GradOperand& dy, const LinearInput& x, const Tensor& x_transposed) const {
    const auto& [tensor, accumulate] = gradients[static_cast<std::size_t>(slot_of(l))];
    linear_grad_weight(op(), recipe(l), dy, {x.of(recipe(l)), x_transposed}, tensor, accumulate);
  }
  /// dx (+)= dy w.
  void grad_input(BlockLinear l, const Tensor& dy, const Tensor& dx, bool accumulate) const {
    linear_grad_input(op(), recipe(l), dy, weight(l), dx, accumulate);
  }

  /// One of the column-parallel linears that share an input. The abs-max of dy is in the scale when the linear is fp8.
  struct Branch {
    BlockLinear linear;
    const Tensor& dy;
    const QuantScale& scale;
  };
  /// dx, of this rank's rows, is the sum over all of them; parts of it leave while the last one makes the others.
  void column_parallel(std::initializer_list<Branch> branches, const LinearInput& x, const Tensor& dx) const {
    const Tensor partial = partial_of(op(), dx);
    const Tensor x_transposed = transpose_input(op(), x);
    const Branch& last = *(branches.end() - 1);
    bool accumulate = false;
    for (const Branch& b : branches) {
      const ArenaScope scope(op().scratch);
      const GradOperand dy = prepare_grad_output(op(), recipe(b.linear), b.dy, b.scale);
      if (&b == &last) {
        last_of_sum(b.linear, dy.rows, partial, dx, accumulate);
      } else {
        grad_input(b.linear, dy.rows, partial, accumulate);
      }
      accumulate = true;
      grad_weight(b.linear, dy, x, x_transposed);
    }
  }
  void last_of_sum(BlockLinear l, const Tensor& dy, const Tensor& partial, const Tensor& dx, bool accumulate) const {
    const ArenaScope scope(op().scratch);
    const GradInputWeight w = weight_for_grad_input(op(), recipe(l), weight(l));
    sum_rows(op(), partial, dx, [&](std::int64_t first, std::int64_t count) {
      linear_grad_input(op(), recipe(l), dy.rows(first, count), w, partial.rows(first, count), accumulate);
    });
  }
  /// dy is of this rank's rows, dx of all tokens, made as dy comes.
  void row_parallel(BlockLinear l, const Tensor& dy, const QuantScale& dy_scale, const LinearInput& x,
                    const Tensor& dx) const {
    const ArenaScope scope(op().scratch);
    const Tensor x_transposed = transpose_input(op(), x);
    std::optional<GradInputWeight> w;  // for one GEMM it is made, where it is, for its length
    if (op().exchange.pipelined()) w = weight_for_grad_input(op(), recipe(l), weight(l));
    const auto work = [&](const Tensor& rows, std::int64_t first) {
      const Tensor to = dx.rows(first, rows.shape[0]);
      w ? linear_grad_input(op(), recipe(l), rows, *w, to, false) : grad_input(l, rows, to, false);
    };
    const GradOperand all = gather_grad_output(op(), recipe(l), dy, dy_scale, work);
    grad_weight(l, all, x, x_transposed);
  }

  void norm(BlockSlot slot, const Tensor& dy, const Tensor& x, const float* inverse_rms, const Tensor& dh,
            const StatsOut& stats) const {
    rmsnorm_backward(op(), dy, x, weights[slot], inverse_rms, dh, false, gradients[slot].tensor,
                     gradients[slot].accumulate, stats);
  }
};

/// `wo_amax`: for that of the residual stream's gradient after it, which is wo's output gradient.
void ffn_part(const Backward& b, BlockActivations& a, const Tensor& dh, const QuantScale& dh_scale, float* wo_amax) {
  const ArenaScope scope(b.op().scratch);
  const QuantScale gate_scale = b.scale(w1), up_scale = b.scale(w3);
  const Tensor d_product = b.scratch(b.pass.model.ffn_dim);
  b.row_parallel(w2, dh, dh_scale, a.x_w2, d_product);
  // In place: gate and up are not read again.
  b.op().kernels.swiglu_backward(b.op().stream,
                                 {.gate = a.gate.data,
                                  .up = a.up.data,
                                  .dy = d_product.data,
                                  .d_gate = a.gate.data,
                                  .d_up = a.up.data,
                                  .dtype = b.pass.shape.storage,
                                  .n = a.gate.elements(),
                                  .gate_stats = {.amax = gate_scale.amax, .non_finite = b.counter(checked_grad_w1)},
                                  .up_stats = {.amax = up_scale.amax, .non_finite = b.counter(checked_grad_w3)}});
  const Tensor dx = b.scratch_rows();
  if (!a.x_ffn.keep_all) gather_input(b.op(), a.x_ffn);
  b.column_parallel({{w1, a.gate, gate_scale}, {w3, a.up, up_scale}}, a.x_ffn, dx);
  b.norm(slot_ffn_norm, dx, a.h_middle, a.inverse_rms_ffn, dh,
         {.amax = wo_amax, .non_finite = b.counter(checked_grad_wo)});
}

void attention_part(const Backward& b, BlockActivations& a, const Tensor& dh, const QuantScale& dh_scale,
                    float* input_amax) {
  const ArenaScope scope(b.op().scratch);
  const ModelConfig& m = b.pass.model;
  const QuantScale q_scale = b.scale(wq), k_scale = b.scale(wk), v_scale = b.scale(wv);
  const Tensor d_o = b.scratch(m.q_dim());
  b.row_parallel(wo, dh, dh_scale, a.x_wo, d_o);

  const Tensor dq = b.scratch(m.q_dim()), dk = b.scratch(m.kv_dim()), dv = b.scratch(m.kv_dim());
  attention_backward(b.op(), attention_shape(m, b.pass.shape), a.q, a.k, a.v, a.x_wo.high, d_o, a.log_sum_exp, dq, dk,
                     dv);
  const std::int64_t batch = b.pass.shape.batch;
  rope(b.op(), b.pass.rope, dq, batch, m.head_dim, true,
       {.amax = q_scale.amax, .non_finite = b.counter(checked_grad_q)});
  rope(b.op(), b.pass.rope, dk, batch, m.head_dim, true,
       {.amax = k_scale.amax, .non_finite = b.counter(checked_grad_k)});
  if (b.recipe(wv).float8 && !b.recipe(wv).rowwise()) {
    measure(b.op(), dv, {.amax = v_scale.amax, .non_finite = b.counter(checked_grad_v)});
  }

  const Tensor dx = b.scratch_rows();
  if (!a.x_attention.keep_all) gather_input(b.op(), a.x_attention);
  b.column_parallel({{wq, dq, q_scale}, {wk, dk, k_scale}, {wv, dv, v_scale}}, a.x_attention, dx);
  b.norm(slot_attention_norm, dx, a.h, a.inverse_rms_attention, dh,
         {.amax = input_amax, .non_finite = b.counter(checked_grad)});
}

}  // namespace

void block_backward(const BlockPass& pass, int unit, std::span<const Tensor> weights,
                    std::span<const GradientTarget> gradients, BlockActivations& a, const Tensor& dh,
                    const QuantScale& dh_scale, float* input_amax) {
  const Backward b{pass, unit, weights, gradients};
  const ArenaScope scope(pass.op.scratch);
  const QuantScale wo_scale = b.scale(wo);
  ffn_part(b, a, dh, dh_scale, wo_scale.amax);
  attention_part(b, a, dh, wo_scale, input_amax);
}

}  // namespace octet
