#include <cmath>

#include "src/model/block.h"
#include "src/model/tensors.h"
#include "src/ops/norm.h"
#include "src/ops/rows.h"

namespace octet {
namespace {

const LinearRecipe& recipe(const BlockPass& pass, BlockLinear l) {
  return pass.recipes[static_cast<std::size_t>(l)];
}

void forward(const BlockPass& pass, BlockLinear l, const LinearInput& x, std::span<const Tensor> weights,
             const Tensor& y) {
  const LinearRecipe& r = recipe(pass, l);
  linear_forward(pass.op, r, x.of(r), weights[static_cast<std::size_t>(slot_of(l))], y);
}

StatsOut stats_of(const BlockPass& pass, int unit, CheckedTensor tensor, const LinearInput& x) {
  return {.amax = x.any_float8 ? x.scale.amax : nullptr, .non_finite = pass.checks.counter(unit, tensor)};
}

/// A row-parallel linear: each rank's columns give a partial sum, of which it gets its rows.
void forward_and_scatter(const BlockPass& pass, BlockLinear l, const LinearInput& x, std::span<const Tensor> weights,
                         const Tensor& y) {
  const ArenaScope scope(pass.op.scratch);
  const Tensor partial = partial_of(pass.op, y);
  forward(pass, l, forward_input(pass.op, x), weights, partial);
  scatter_rows(pass.op, partial, y);
}

/// A place for x.high: its own when it is kept, else scratch.
void place_high(const BlockPass& pass, LinearInput& x) {
  if (!x.keep_high) x.high.data = pass.op.scratch.allocate(x.high.bytes());
}

void attention_part(const BlockPass& pass, int unit, std::span<const Tensor> weights, const Tensor& residual,
                    const Tensor& branch_in, BlockActivations& a, const Tensor& branch_out) {
  const ArenaScope scope(pass.op.scratch);
  const ModelConfig& m = pass.model;
  place_high(pass, a.x_attention);
  add_rmsnorm(pass.op, residual, branch_in, weights[slot_attention_norm], static_cast<float>(m.norm_eps), a.h,
              a.x_attention.high, a.inverse_rms_attention,
              stats_of(pass, unit, checked_attention_input, a.x_attention));
  quantize_input(pass.op, a.x_attention);
  gather_input(pass.op, a.x_attention);
  const LinearInput x = forward_input(pass.op, a.x_attention);
  forward(pass, wq, x, weights, a.q);
  forward(pass, wk, x, weights, a.k);
  forward(pass, wv, x, weights, a.v);
  rope(pass.op, pass.rope, a.q, pass.shape.batch, m.head_dim, false, {});
  rope(pass.op, pass.rope, a.k, pass.shape.batch, m.head_dim, false, {});

  attention_forward(pass.op, attention_shape(m, pass.shape), a.q, a.k, a.v, a.x_wo.high, a.log_sum_exp);
  if (a.x_wo.any_float8) measure(pass.op, a.x_wo.high, stats_of(pass, unit, checked_attention_output, a.x_wo));
  quantize_input(pass.op, a.x_wo);
  forward_and_scatter(pass, wo, a.x_wo, weights, branch_out);
}

void ffn_part(const BlockPass& pass, int unit, std::span<const Tensor> weights, BlockActivations& a,
              const Tensor& branch) {
  const ArenaScope scope(pass.op.scratch);
  place_high(pass, a.x_ffn);
  add_rmsnorm(pass.op, a.h, branch, weights[slot_ffn_norm], static_cast<float>(pass.model.norm_eps), a.h_middle,
              a.x_ffn.high, a.inverse_rms_ffn, stats_of(pass, unit, checked_ffn_input, a.x_ffn));
  quantize_input(pass.op, a.x_ffn);
  gather_input(pass.op, a.x_ffn);
  const LinearInput x = forward_input(pass.op, a.x_ffn);
  forward(pass, w1, x, weights, a.gate);
  forward(pass, w3, x, weights, a.up);

  place_high(pass, a.x_w2);
  pass.op.kernels.swiglu_forward(pass.op.stream, {.gate = a.gate.data,
                                                  .up = a.up.data,
                                                  .y = a.x_w2.high.data,
                                                  .dtype = pass.shape.storage,
                                                  .n = a.gate.elements(),
                                                  .stats = stats_of(pass, unit, checked_ffn_product, a.x_w2)});
  quantize_input(pass.op, a.x_w2);
  forward_and_scatter(pass, w2, a.x_w2, weights, branch);
}

}  // namespace

AttentionShape attention_shape(const ModelConfig& m, const BatchShape& shape) {
  return {.batch = shape.batch,
          .seq = shape.seq,
          .heads = m.heads,
          .kv_heads = m.kv_heads,
          .head_dim = m.head_dim,
          .scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(m.head_dim))),
          .dtype = shape.storage};
}

void block_forward(const BlockPass& pass, int unit, std::span<const Tensor> weights, const Tensor& residual,
                   const Tensor& branch_in, BlockActivations& a, const Tensor& branch_out) {
  // branch_out may be branch_in: attention reads it before it writes it.
  attention_part(pass, unit, weights, residual, branch_in, a, branch_out);
  ffn_part(pass, unit, weights, a, branch_out);
}

}  // namespace octet
