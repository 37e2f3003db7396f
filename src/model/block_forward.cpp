#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "src/model/block.h"
#include "src/model/tensors.h"
#include "src/ops/norm.h"
#include "src/ops/rows.h"
#include "src/profile/scopes.h"

namespace octet {
namespace {

using enum Activation;

/// A run through a block: in forward it makes everything, before backward what was not kept.
struct Run {
  const BlockPass& pass;
  int unit;
  std::span<const Tensor> weights;
  BlockActivations& a;
  ActivationSet missing;
  bool again;  ///< the scales are there, and nothing is counted

  OpContext& op() const { return pass.op; }
  bool makes(Activation x) const { return missing.has(x); }

  /// Of `count` tokens from `first` on.
  void linear(BlockLinear l, const LinearInput& x, const Tensor& y, std::int64_t first, std::int64_t count) const {
    const LinearRecipe& r = pass.recipes[static_cast<std::size_t>(l)];
    linear_forward(op(), r, x.of(r).rows(first, count), weights[static_cast<std::size_t>(slot_of(l))],
                   y.rows(first, count));
  }
  /// A row-parallel linear: each rank's columns give a partial sum, of which it gets its rows.
  void linear_and_scatter(BlockLinear l, const LinearInput& x, const Tensor& y) const {
    const ArenaScope scope(op().scratch);
    const Tensor partial = partial_of(op(), y);
    const LinearInput read = forward_input(op(), x);
    sum_rows(op(), partial, y, [&](std::int64_t first, std::int64_t count) { linear(l, read, partial, first, count); });
  }

  struct Product {
    BlockLinear linear;
    Activation result;
    const Tensor& y;
  };
  /// Column-parallel linears that share the input x, which is gathered for them; or for backward, where it is kept
  /// whole.
  void linears(LinearInput& x, Activation input, std::initializer_list<Product> products) const {
    const bool any = std::ranges::any_of(products, [&](const Product& p) { return makes(p.result); });
    const auto work = [&](std::int64_t first, std::int64_t count) {
      if (!any) return;
      const LinearInput read = forward_input(op(), x);  // of rowwise linears, which get all tokens at once
      for (const Product& p : products) {
        if (makes(p.result)) linear(p.linear, read, p.y, first, count);
      }
    };
    if (x.keep_all ? makes(input) : any) {
      gather_input(op(), x, work);
    } else {
      work(0, pass.shape.tokens());
    }
  }

  StatsOut stats(CheckedTensor tensor, const LinearInput& x) const {
    if (again) return {};
    return {.amax = x.any_float8 ? x.scale.amax : nullptr, .non_finite = pass.checks.counter(unit, tensor)};
  }
  /// A place for x.high: its own when it is kept, else scratch.
  void place_high(LinearInput& x) const {
    if (!x.keep_high) x.high.data = op().scratch.allocate(x.high.bytes());
  }
  void cast(LinearInput& x) const { again ? quantize_input_again(op(), x) : quantize_input(op(), x); }
  /// sum = residual + branch, x.high = its norm.
  void norm(BlockSlot slot, const Tensor& residual, const Tensor& branch, const Tensor& sum, const LinearInput& x,
            float* inverse_rms, CheckedTensor checked) const {
    add_rmsnorm(op(), residual, branch, weights[static_cast<std::size_t>(slot)],
                static_cast<float>(pass.model.norm_eps), sum, x.high, inverse_rms, stats(checked, x));
  }
  void rotate(const Tensor& x) const { rope(op(), pass.rope, x, pass.shape.batch, pass.model.head_dim, false, {}); }
  void attention(const Tensor& out) const {
    attention_forward(op(), attention_shape(pass.model, pass.shape), a.q, a.k, a.v, out, a.log_sum_exp);
  }
  void swiglu() const {
    op().kernels.swiglu_forward(op().stream, {.gate = a.gate.data,
                                              .up = a.up.data,
                                              .y = a.x_w2.high.data,
                                              .dtype = pass.shape.storage,
                                              .n = a.gate.elements(),
                                              .stats = stats(checked_ffn_product, a.x_w2)});
  }
};

/// Into `branch`, where the residual stream after it is wanted.
void attention_part(const Run& r, const Tensor& h, const Tensor& branch_in, const Tensor& branch) {
  const ArenaScope scope(r.op().scratch);
  BlockActivations& a = r.a;
  if (r.makes(attention_input)) {
    r.place_high(a.x_attention);
    r.norm(slot_attention_norm, h, branch_in, a.h, a.x_attention, a.inverse_rms_attention, checked_attention_input);
    r.cast(a.x_attention);
  }
  r.linears(a.x_attention, attention_input, {{wq, q, a.q}, {wk, k, a.k}, {wv, v, a.v}});
  if (r.makes(q)) r.rotate(a.q);
  if (r.makes(k)) r.rotate(a.k);

  if (r.makes(attention_output)) r.attention(a.x_wo.high);
  if (r.makes(attention_cast)) {
    if (a.x_wo.any_float8 && !r.again) measure(r.op(), a.x_wo.high, r.stats(checked_attention_output, a.x_wo));
    r.cast(a.x_wo);
  }
  if (r.makes(residual)) r.linear_and_scatter(wo, a.x_wo, branch);
}

/// Up to the input of w2.
void ffn_part(const Run& r, const Tensor& branch) {
  BlockActivations& a = r.a;
  if (r.missing.has_any({residual, ffn_input})) {
    r.place_high(a.x_ffn);
    const bool add = r.makes(residual);
    r.norm(slot_ffn_norm, add ? a.h : a.h_middle, add ? branch : Tensor{}, a.h_middle, a.x_ffn, a.inverse_rms_ffn,
           checked_ffn_input);
  }
  if (r.makes(ffn_input)) r.cast(a.x_ffn);
  r.linears(a.x_ffn, ffn_input, {{w1, gate, a.gate}, {w3, up, a.up}});
  if (r.makes(ffn_product)) {
    r.place_high(a.x_w2);
    r.swiglu();
    r.cast(a.x_w2);
  }
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
  const Run run{pass, unit, weights, a, ActivationSet::all(), false};
  // branch_out may be branch_in: attention reads it before it writes it.
  attention_part(run, residual, branch_in, branch_out);
  const ArenaScope scope(pass.op.scratch);
  ffn_part(run, branch_out);
  run.linear_and_scatter(w2, a.x_w2, branch_out);
}

void block_recompute(const BlockPass& pass, int unit, std::span<const Tensor> weights, const ActivationSet& kept,
                     BlockActivations& a, const Tensor& branch) {
  const StepPartScope part(StepPart::recompute);
  const RecomputedGemms scope(pass.op.gemms);
  const Run run{pass, unit, weights, a, ~kept, true};
  attention_part(run, a.h, {}, branch);
  const ArenaScope scratch(pass.op.scratch);
  ffn_part(run, branch);
}

}  // namespace octet
