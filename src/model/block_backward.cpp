#include <initializer_list>

#include "src/model/block.h"
#include "src/model/tensors.h"
#include "src/ops/norm.h"

namespace octet {
namespace {

/// The block's weights and gradients by linear, and memory for gradients on their way.
struct Backward {
  const BlockPass& pass;
  int unit;
  std::span<const Tensor> weights;
  std::span<const GradientTarget> gradients;

  OpContext& op() const { return pass.op; }
  /// Of the linear's output gradient.
  QuantScale scale(BlockLinear l) const { return pass.scales.gradient(pass.linears.recipes, l, op().scratch); }
  std::uint32_t* counter(CheckedTensor t) const { return pass.checks.counter(unit, t); }
  /// Of all tokens.
  Tensor scratch(std::int64_t columns) const {
    return take(op().scratch, pass.shape.storage, pass.shape.tokens(), columns);
  }
  /// Of this rank's rows.
  Tensor scratch_rows() const { return take(op().scratch, pass.shape.storage, pass.shape.rows(), pass.model.dim); }

  static std::size_t at(BlockLinear l) { return static_cast<std::size_t>(slot_of(l)); }
  void linear(const RowLinear& linear, BlockLinear l, LinearInput& x, const Tensor& dy, const QuantScale& dy_scale,
              const Tensor& dx) const {
    linear.backward(op(), x, dy, dy_scale, weights[at(l)], gradients[at(l)], dx);
  }
  /// `first`: of the group's linears, whose weights stand side by side.
  void group(const ColumnGroup& group, BlockLinear first, LinearInput& x,
             std::initializer_list<ColumnGroup::OutputGradient> dys, const Tensor& dx) const {
    group.backward(op(), x, std::span(dys.begin(), dys.size()), weights.subspan(at(first), dys.size()),
                   gradients.subspan(at(first), dys.size()), dx);
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
  b.linear(b.pass.linears.w2, w2, a.x_w2, dh, dh_scale, d_product);
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
  b.group(b.pass.linears.w1_w3, w1, a.x_ffn, {{a.gate, gate_scale}, {a.up, up_scale}}, dx);
  b.norm(slot_ffn_norm, dx, a.h_middle, a.inverse_rms_ffn, dh,
         {.amax = wo_amax, .non_finite = b.counter(checked_grad_wo)});
}

void attention_part(const Backward& b, BlockActivations& a, const Tensor& dh, const QuantScale& dh_scale,
                    float* input_amax) {
  const ArenaScope scope(b.op().scratch);
  const ModelConfig& m = b.pass.model;
  const QuantScale q_scale = b.scale(wq), k_scale = b.scale(wk), v_scale = b.scale(wv);
  const Tensor d_o = b.scratch(m.q_dim());
  b.linear(b.pass.linears.wo, wo, a.x_wo, dh, dh_scale, d_o);

  const Tensor dq = b.scratch(m.q_dim()), dk = b.scratch(m.kv_dim()), dv = b.scratch(m.kv_dim());
  attention_backward(b.op(), attention_shape(m, b.pass.shape), a.q, a.k, a.v, a.x_wo.high, d_o, a.log_sum_exp, dq, dk,
                     dv);
  const std::int64_t batch = b.pass.shape.batch;
  rope(b.op(), b.pass.rope, {dq, {.amax = q_scale.amax, .non_finite = b.counter(checked_grad_q)}},
       {dk, {.amax = k_scale.amax, .non_finite = b.counter(checked_grad_k)}}, batch, m.head_dim, true);
  // No pass of its own but where its abs-max is asked for.
  if (b.pass.linears.recipes[wv]->casts_first())
    measure(b.op(), dv, {.amax = v_scale.amax, .non_finite = b.counter(checked_grad_v)});

  const Tensor dx = b.scratch_rows();
  b.group(b.pass.linears.qkv, wq, a.x_attention, {{dq, q_scale}, {dk, k_scale}, {dv, v_scale}}, dx);
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
