#include <array>
#include <cmath>

#include "src/model/block.h"
#include "src/model/checked_tensors.h"
#include "src/ops/norm.h"
#include "src/ops/swiglu.h"
#include "src/profile/scopes.h"

namespace octet {
namespace {

using enum Activation;

/// The calls of a block, of which forward makes everything, and recompute before backward what was not kept.
struct Forward {
  const BlockPass& pass;
  std::span<const Tensor> weights;
  BlockActivations& a;
  ActivationSet missing;
  bool again;  ///< the scales are there, and nothing is counted

  OpContext& op() const { return pass.op; }
  bool makes(Activation x) const { return missing.has(x); }

  const BlockLinears& linears() const { return pass.linears; }
  const Tensor& weight(BlockLinear l) const { return weights[static_cast<std::size_t>(index_of(l))]; }
  /// The weights of a group of linears that begins with `first`.
  std::span<const Tensor> group_weights(BlockLinear first, std::size_t count) const {
    return weights.subspan(static_cast<std::size_t>(index_of(first)), count);
  }
  /// y where it is made.
  Tensor made(Activation x, const Tensor& y) const { return makes(x) ? y : Tensor{}; }

  StatsOut stats(CheckedTensor tensor, const LinearInput& x) const {
    if (again) return {};
    return {.amax = x.is_cast() ? x.scale.amax : nullptr, .non_finite = pass.checks.counter(pass.unit, tensor)};
  }
  /// A place for x.high: its own when it is kept, else scratch.
  void place_high(LinearInput& x) const {
    if (!x.keep_high) x.high.data = op().scratch.allocate(x.high.bytes());
  }
  /// Casts x, of x.high or what stands in its place, and takes the statistics that its producer has not. Where the
  /// transposed form is kept, the one that forward's GEMMs read is scratch, and is made only if one of them runs
  /// (`read`).
  void cast(const LinearGroup& group, LinearInput& x, const CastSource& source, bool read,
            const StatsOut& taken = {}) const {
    if (x.keeps_transposed()) x.quantized.data = read ? op().scratch.allocate(x.quantized.bytes()) : nullptr;
    group.cast(op(), x, source, again, taken);
  }
  /// Makes x.high and casts it. `produce` writes x.high, or the fp8 forms that it is asked for;
  /// `producer_transposes`: the transposed one among them. `unstored`: what can be cast in place of an x.high that
  /// nobody keeps, which `produce` then only measures; null: nothing.
  template <typename Produce>
  void make(const LinearGroup& group, LinearInput& x, bool read, bool producer_transposes, const CastSource* unstored,
            Produce&& produce) const {
    if (!x.is_cast_by_producer()) {
      const bool stored = x.keep_high || unstored == nullptr;
      if (stored) place_high(x);
      produce(Float8Out{});
      return cast(group, x, stored ? x.high : *unstored, read);
    }
    if (!x.keep_high) x.high.data = nullptr;
    if (x.keeps_transposed()) x.quantized.data = op().scratch.allocate(x.quantized.bytes());
    produce(LinearGroup::float8_destination(x, producer_transposes));
    group.finish_producer_cast(op(), x, producer_transposes);
  }
  /// What a norm leaves, of which a cast forms its output.
  CastSource normed(BlockWeight which, const Tensor& sum, const float* inverse_rms) const {
    return {sum, weights[static_cast<std::size_t>(which)], inverse_rms};
  }
  /// sum = residual + branch, x.high = its norm, where that has a place.
  void norm(BlockWeight which, const Tensor& residual, const Tensor& branch, const Tensor& sum, const LinearInput& x,
            float* inverse_rms, CheckedTensor checked, const Float8Out& float8) const {
    add_rmsnorm(op(), residual, branch, weights[static_cast<std::size_t>(which)],
                static_cast<float>(pass.model.norm_eps), sum, {x.high, stats(checked, x), float8}, inverse_rms);
  }
  /// Turns q and k, each where it is made.
  void rotate() const {
    rope(op(), pass.rope, {made(q, a.q)}, {made(k, a.k)}, pass.shape.batch, pass.documents, Rotation::forth);
  }
  void attention(const Tensor& out) const {
    const AttentionShape shape = attention_shape(pass.model, pass.shape);
    const CachedKeys& cached = pass.cached;
    if (cached.keys.shape.rank() != 0) {
      return span_attention(op(), span_shape(shape, pass.shape.tokens(), cached.keys.shape[0]),
                            {a.q, cached.keys, cached.values}, out, cached.spans, cached.longest);
    }
    attention_forward(op(), shape, pass.documents, {a.q, a.k, a.v}, {out, a.log_sum_exp});
  }
  void swiglu(const Float8Out& float8) const {
    swiglu_forward(op(), a.gate, a.up, {a.x_w2.high, stats(checked_ffn_product, a.x_w2), float8});
  }
};

/// Attention of `in` into `branch`, where the residual stream after it is wanted.
void attention_part(const Forward& f, const BlockResult& in, const Tensor& branch) {
  const ArenaScope scope(f.op().scratch);
  const BlockLinears& linears = f.linears();
  BlockActivations& a = f.a;
  if (f.makes(attention_input)) {
    const CastSource normed = f.normed(attention_norm_weight, a.h, a.inverse_rms_attention);
    f.make(linears.qkv, a.x_attention, f.missing.has_any({q, k, v}), false, &normed, [&](const Float8Out& float8) {
      f.norm(attention_norm_weight, in.residual, in.branch, a.h, a.x_attention, a.inverse_rms_attention,
             checked_attention_input, float8);
    });
  }
  linears.qkv.forward(f.op(), a.x_attention, f.group_weights(wq, 3),
                      std::array{f.made(q, a.q), f.made(k, a.k), f.made(v, a.v)});
  f.rotate();

  if (f.makes(attention_output)) f.attention(a.x_wo.high);
  if (f.makes(attention_cast)) {
    f.cast(linears.wo, a.x_wo, a.x_wo.high, f.makes(residual), f.stats(checked_attention_output, a.x_wo));
  }
  if (f.makes(residual)) linears.wo.forward(f.op(), a.x_wo, f.weight(wo), branch);
}

/// Up to the input of w2.
void ffn_part(const Forward& f, const Tensor& branch) {
  const BlockLinears& linears = f.linears();
  BlockActivations& a = f.a;
  const auto norm = [&](const Float8Out& float8) {
    const bool add = f.makes(residual);
    f.norm(ffn_norm_weight, add ? a.h : a.h_middle, add ? branch : Tensor{}, a.h_middle, a.x_ffn, a.inverse_rms_ffn,
           checked_ffn_input, float8);
  };
  if (f.makes(ffn_input)) {
    const CastSource normed = f.normed(ffn_norm_weight, a.h_middle, a.inverse_rms_ffn);
    f.make(linears.w1_w3, a.x_ffn, f.missing.has_any({gate, up}), false, &normed, norm);
  } else if (f.makes(residual)) {  // for the sum alone
    norm({});
  }
  linears.w1_w3.forward(f.op(), a.x_ffn, f.group_weights(w1, 2), std::array{f.made(gate, a.gate), f.made(up, a.up)});
  if (f.makes(ffn_product)) {
    f.make(linears.w2, a.x_w2, !f.again, true, nullptr, [&](const Float8Out& float8) { f.swiglu(float8); });
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

void block_forward(const BlockPass& pass, std::span<const Tensor> weights, const BlockResult& in, BlockActivations& a,
                   const Tensor& branch) {
  const Forward f{pass, weights, a, ActivationSet::all(), false};
  // The branch may be in.branch: attention reads it before it writes it.
  attention_part(f, in, branch);
  const ArenaScope scope(pass.op.scratch);
  ffn_part(f, branch);
  pass.linears.w2.forward(pass.op, a.x_w2, f.weight(w2), branch);
}

void block_recompute(const BlockPass& pass, std::span<const Tensor> weights, const ActivationSet& kept,
                     BlockActivations& a, const Tensor& branch) {
  const StepPartScope part(StepPart::recompute);
  const RecomputedGemms scope(pass.op.gemms);
  const Forward f{pass, weights, a, ~kept, true};
  attention_part(f, {a.h, {}}, branch);
  const ArenaScope scratch(pass.op.scratch);
  ffn_part(f, branch);
}

}  // namespace octet
