#include <array>
#include <initializer_list>

#include "src/model/block.h"
#include "src/model/checked_tensors.h"
#include "src/ops/norm.h"
#include "src/ops/reduce.h"
#include "src/ops/swiglu.h"

namespace octet {
namespace {

/// The block's weights and gradients by linear, and memory for gradients on their way.
struct Backward {
  const BlockPass& pass;
  std::span<const Tensor> weights, transposed;
  std::span<const GradientTarget> gradients;
  DeferredGradients* deferred;  ///< null: weight gradients are made here

  OpContext& op() const { return pass.op; }
  /// The output gradient of a linear. `producer_transposes`: whoever makes it can write the transposed fp8 form too.
  /// One that is read again later, for deferred weight gradients, is kept in the storage dtype and cast each time.
  OutputGradient gradient(BlockLinear l, const Tensor& dy, bool producer_transposes) const {
    if (deferred != nullptr) return {dy, scale(l)};
    return output_gradient(pass.linears.recipes[static_cast<std::size_t>(l)], dy, scale(l), op().scratch,
                           producer_transposes && op().kernels.float8_gemm_k_major);
  }
  /// The output gradient of a dy that exists already and that no producer has measured (attention's). A pass measures
  /// it here, and casts it where the scale is known; there is none where no abs-max is asked for.
  OutputGradient measured(BlockLinear l, const Tensor& dy, CheckedTensor checked) const {
    const LinearRecipe& linear = pass.linears.recipes[static_cast<std::size_t>(l)];
    const OutputGradient made = gradient(l, dy, true);
    const StatsOut stats{.amax = made.scale.amax, .non_finite = counter(checked)};
    if (made.is_cast()) {
      cast(op(), dy, made.quantized.dtype, made.scale, made.quantized.data, made.transposed.data, stats);
    } else if (linear->casts_first()) {
      measure(op(), dy, stats);
    }
    return made;
  }
  std::uint32_t* counter(CheckedTensor t) const { return pass.checks.counter(pass.unit, t); }
  QuantScale scale(BlockLinear l) const {
    return pass.scales.gradient(pass.linears.recipes, l, deferred != nullptr ? *deferred->arena : op().scratch);
  }
  /// dy itself, or its copy in `place` where weight gradients are deferred.
  Tensor copied(const Tensor& dy, const Tensor& place) const {
    if (deferred == nullptr) return dy;
    op().stream.device().copy(place.data, dy.data, dy.bytes(), op().stream);
    return place;
  }
  void leave(OutputGradient DeferredGradients::*of, const Tensor& dy, QuantScale scale) const {
    if (deferred == nullptr) return;
    scale.known = true;
    deferred->*of = {dy, scale};
  }
  /// Scratch for all tokens.
  Tensor scratch(std::int64_t columns) const {
    return take(op().scratch, pass.shape.storage, pass.shape.tokens(), columns);
  }
  /// Scratch for this rank's rows.
  Tensor scratch_rows() const { return take(op().scratch, pass.shape.storage, pass.shape.rows(), pass.model.dim); }
  /// The same in the memory of a tensor of which nothing is read any more, if it has room.
  Tensor rows_over(const Tensor& done) const {
    const Tensor rows{done.data, done.dtype, {pass.shape.rows(), pass.model.dim}, nullptr};
    return rows.bytes() <= done.bytes() ? rows : scratch_rows();
  }

  static std::size_t at(BlockLinear l) { return static_cast<std::size_t>(index_of(l)); }
  WeightOperand weight(std::size_t i) const { return {weights[i], transposed.empty() ? Tensor{} : transposed[i]}; }
  void linear(const RowLinear& linear, BlockLinear l, LinearInput& x, const OutputGradient& dy,
              const Tensor& dx) const {
    linear.backward(op(), x, dy, weight(at(l)), deferred != nullptr ? GradientTarget{} : gradients[at(l)], dx);
  }
  /// `first`: of the group's linears, whose weights stand side by side.
  void group(const ColumnGroup& group, BlockLinear first, LinearInput& x, std::initializer_list<OutputGradient> dys,
             const Tensor& dx) const {
    std::array<WeightOperand, 3> of;
    for (std::size_t i = 0; i < dys.size(); ++i) of.at(i) = weight(at(first) + i);
    group.backward(op(), x, std::span(dys.begin(), dys.size()), std::span(of).first(dys.size()),
                   deferred != nullptr ? gradients : gradients.subspan(at(first), dys.size()), dx);
  }

  /// Says whether a linear's output gradient is cast with the scale of its own abs-max, by whoever reads it next.
  bool is_cast_later(BlockLinear l, const OutputGradient& of) const {
    return deferred == nullptr && pass.linears.recipes[static_cast<std::size_t>(l)]->casts_first() && !of.is_cast();
  }
  /// Such a gradient, once its abs-max is there: with its scale, and with places for the forms that its producer can
  /// write then. `place`: as in output_gradient.
  OutputGradient known(BlockLinear l, const OutputGradient& of, const Tensor& place = {}) const {
    const LinearRecipe& linear = pass.linears.recipes[static_cast<std::size_t>(l)];
    const QuantScale scale = known_by_amax(op(), of.scale, linear->grad_output_format(), linear->power_of_two());
    return output_gradient(linear, of.dy, scale, op().scratch, op().kernels.float8_gemm_k_major, place);
  }
  /// The gradients of gate and up, in place or in fp8. Where both are cast with scales of their own abs-maxes, a pass
  /// takes these alone and a second one writes fp8, which costs less than to write bf16 and to cast it: 6 bytes a value
  /// and then 10, in place of 10 and twice 4.
  void swiglu(BlockActivations& a, const Tensor& d_product, OutputGradient& d_gate, OutputGradient& d_up) const {
    const Produced gate = d_gate.produced(counter(checked_grad_w1)), up = d_up.produced(counter(checked_grad_w3));
    const auto make = [&](const Produced& g, const Produced& u) {
      swiglu_backward(op(), a.gate, a.up, d_product, g, u);
    };
    if (!is_cast_later(w1, d_gate) || !is_cast_later(w3, d_up)) return make(gate.float8_alone(), up.float8_alone());
    make(gate.stats_alone(), up.stats_alone());
    d_gate = known(w1, d_gate);
    d_up = known(w3, d_up, a.x_w2.kept());  // there: w2's weight gradient was the last to read it
    make(Produced{d_gate.dy, {}, d_gate.float8()}.float8_alone(), Produced{d_up.dy, {}, d_up.float8()}.float8_alone());
  }

  void norm(BlockWeight which, const Tensor& dy, const Tensor& x, const float* inverse_rms, const Tensor& dh,
            const OutputGradient& of, CheckedTensor checked) const {
    const GradientTarget target =
        deferred == nullptr ? gradients[which] : GradientTarget{deferred->norms.at(which), false};
    rmsnorm_backward(op(), dy, {x, weights[which], inverse_rms}, ResidualGradient::in_dh,
                     {dh, {.amax = of.scale.amax, .non_finite = counter(checked)}, of.float8()}, target);
  }
};

/// `of_wo`: for the residual stream's gradient after it, which is wo's output gradient.
void ffn_part(const Backward& b, BlockActivations& a, const OutputGradient& dh, const OutputGradient& of_wo) {
  const ArenaScope scope(b.op().scratch);
  // In place: gate and up are not read again.
  if (b.deferred != nullptr) b.leave(&DeferredGradients::w2, b.copied(dh.dy, b.deferred->w2.dy), dh.scale);
  OutputGradient d_gate = b.gradient(w1, a.gate, true), d_up = b.gradient(w3, a.up, true);
  const Tensor d_product = b.scratch(b.pass.model.ffn_dim);
  b.linear(b.pass.linears.w2, w2, a.x_w2, dh, d_product);
  b.swiglu(a, d_product, d_gate, d_up);
  const Tensor dx = b.rows_over(d_product);
  b.group(b.pass.linears.w1_w3, w1, a.x_ffn, {d_gate, d_up}, dx);
  b.norm(ffn_norm_weight, dx, a.h_middle, a.inverse_rms_ffn, dh.dy, of_wo, checked_grad_wo);
  b.leave(&DeferredGradients::gate, a.gate, d_gate.scale);
  b.leave(&DeferredGradients::up, a.up, d_up.scale);
  b.leave(&DeferredGradients::wo, b.copied(dh.dy, a.h_middle), of_wo.scale);
}

void attention_part(const Backward& b, BlockActivations& a, const OutputGradient& dh, const OutputGradient& below) {
  const ArenaScope scope(b.op().scratch);
  const ModelConfig& m = b.pass.model;
  const Tensor d_o = b.scratch(m.q_dim());
  b.linear(b.pass.linears.wo, wo, a.x_wo, dh, d_o);

  const Tensor made_q = b.scratch(m.q_dim()), made_k = b.scratch(m.kv_dim()), made_v = b.scratch(m.kv_dim());
  attention_backward(b.op(), attention_shape(m, b.pass.shape), b.pass.documents, {a.q, a.k, a.v},
                     {a.x_wo.high, a.log_sum_exp}, d_o, {made_q, made_k, made_v});
  const Tensor dq = b.copied(made_q, a.q), dk = b.copied(made_k, a.k), dv = b.copied(made_v, a.v);
  const OutputGradient d_q = b.gradient(wq, dq, true), d_k = b.gradient(wk, dk, true);
  rope(b.op(), b.pass.rope, d_q.produced(b.counter(checked_grad_q)), d_k.produced(b.counter(checked_grad_k)),
       b.pass.shape.batch, b.pass.documents, Rotation::back);
  const OutputGradient d_v = b.measured(wv, dv, checked_grad_v);

  const Tensor dx = b.scratch_rows();
  b.group(b.pass.linears.qkv, wq, a.x_attention, {d_q, d_k, d_v}, dx);
  b.norm(attention_norm_weight, dx, a.h, a.inverse_rms_attention, dh.dy, below, checked_grad);
  b.leave(&DeferredGradients::q, dq, d_q.scale);
  b.leave(&DeferredGradients::k, dk, d_k.scale);
  b.leave(&DeferredGradients::v, dv, d_v.scale);
}

}  // namespace

OutputGradient output_gradient(const LinearRecipe& linear, const Tensor& dy, const QuantScale& scale, Arena& arena,
                               bool transposed, const Tensor& place) {
  OutputGradient gradient{dy, scale};
  if (!scale.known) return gradient;
  const DType format = linear->grad_output_format();
  const std::int64_t rows = dy.shape[0], columns = dy.shape[1];
  void* stored = place.shape.rank() != 0 ? place.data : arena.allocate(rows * columns);
  gradient.quantized = {stored, format, dy.shape, scale.inverse};
  if (transposed) gradient.transposed = {arena.allocate(rows * columns), format, {columns, rows}, scale.inverse};
  return gradient;
}

void block_backward(const BlockPass& pass, std::span<const Tensor> weights, std::span<const Tensor> transposed,
                    std::span<const GradientTarget> gradients, BlockActivations& a, const OutputGradient& dh,
                    const OutputGradient& below, DeferredGradients* deferred) {
  const Backward b{pass, weights, transposed, gradients, deferred};
  const ArenaScope scope(pass.op.scratch);
  const OutputGradient of_wo = b.gradient(wo, dh.dy, false);
  ffn_part(b, a, dh, of_wo);
  attention_part(b, a, of_wo, below);
}

void block_weight_gradients(const BlockPass& pass, std::span<const GradientTarget> gradients, BlockActivations& a,
                            const DeferredGradients& deferred) {
  const auto at = [](BlockLinear l) { return static_cast<std::size_t>(index_of(l)); };
  const BlockLinears& linears = pass.linears;
  linears.w2.weight_gradient(pass.op, a.x_w2, deferred.w2, gradients[at(w2)]);
  linears.w1_w3.weight_gradients(pass.op, a.x_ffn, std::array{deferred.gate, deferred.up},
                                 gradients.subspan(at(w1), 2));
  linears.wo.weight_gradient(pass.op, a.x_wo, deferred.wo, gradients[at(wo)]);
  linears.qkv.weight_gradients(pass.op, a.x_attention, std::array{deferred.q, deferred.k, deferred.v},
                               gradients.subspan(at(wq), 3));
  for (std::size_t i = 0; i < block_norms; ++i) leave_gradient(pass.op, deferred.norms.at(i), gradients[i]);
}

}  // namespace octet
