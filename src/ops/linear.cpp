#include "src/ops/linear.h"

#include <algorithm>
#include <array>

#include "src/ops/linear_gemms.h"

namespace octet {

LinearGroup::LinearGroup(std::vector<LinearRecipe> linears) : linears_(std::move(linears)) {
  for (const LinearRecipe& l : linears_) {
    if (l.float8()) {
      float8_ = l.recipe;
    } else {
      any_plain_ = true;
    }
  }
}

void LinearGroup::cast(OpContext& op, LinearInput& x, bool again, const StatsOut& stats) const {
  if (casts_first()) {
    x.quantized = float8_->cast_input(op, x.high, x.scale, again, x.quantized.data, x.turned.data, stats);
  }
  if (x.is_turned()) x.turned.inverse_scale = x.quantized.inverse_scale;
  nothing_gathered(x);
}

Float8Out LinearGroup::place(const LinearInput& x, bool turned) {
  if (!x.is_written_cast()) return {};
  return {.y = x.quantized.data,
          .y_transposed = turned ? x.turned.data : nullptr,
          .format = x.quantized.dtype,
          .scale = x.scale.scale};
}

void LinearGroup::written(OpContext& op, LinearInput& x, bool turned) const {
  x.quantized.inverse_scale = x.turned.inverse_scale = x.scale.inverse;
  if (x.is_turned() && !turned) transpose(op, x.quantized, x.turned.data);
  nothing_gathered(x);
}

void LinearGroup::nothing_gathered(LinearInput& x) {
  x.all_high = x.high;
  x.all_quantized = x.quantized;
  x.all_there = false;
}

Float8Out OutputGradient::float8() const {
  if (!is_cast()) return {};
  return {.y = quantized.data, .y_transposed = transposed.data, .format = quantized.dtype, .scale = scale.scale};
}

GradOperand LinearGroup::operands(OpContext& op, const LinearRecipe& linear, const OutputGradient& dy) {
  if (!dy.is_cast()) return linear->grad_output(op, dy.dy, dy.scale);
  if (dy.transposed.shape.rank() != 0) return {dy.quantized, dy.transposed};
  return linear->gathered_grad_output(op, dy.quantized);
}

void LinearGroup::grad_weight(OpContext& op, const LinearRecipe& linear, const GradOperand& dy, const LinearInput& x,
                              const Tensor& float8, const GradientTarget& dw) const {
  linear_grad_weight(op, linear, dy.for_weight, pick(linear, float8, x.all_high), dw.tensor, dw.accumulate);
}

namespace {

/// The forms of x that travel, each with where it goes: around it when they are kept, or into scratch.
struct InputGathers {
  std::array<Exchange::Gather, 2> all;
  std::size_t count = 0;

  InputGathers(OpContext& op, LinearInput& x) {
    const auto add = [&](const Tensor& local) {
      all[count] = gather_of(op, local, x.keep_all);
      return all[count++].whole;
    };
    if (x.keep_high) x.all_high = add(x.high);
    if (x.is_cast()) x.all_quantized = add(x.quantized);
    x.all_there = x.keep_all;
  }
  std::span<const Exchange::Gather> calls() const { return std::span(all).first(count); }
};

}  // namespace

void ColumnGroup::forward(OpContext& op, LinearInput& x, std::span<const Tensor> weights,
                          std::span<const Tensor> ys) const {
  const auto wanted = [](const Tensor& y) { return y.shape.rank() != 0; };
  const bool any = std::ranges::any_of(ys, wanted);
  const auto work = [&](std::int64_t first, std::int64_t count) {
    if (!any) return;
    const Tensor float8 = float8_->input_for_output(op, kept(x));  // where it casts here, all tokens come at once
    for (std::size_t i = 0; i < linears_.size(); ++i) {
      if (!wanted(ys[i])) continue;
      const LinearRecipe& l = linears_[i];
      const ArenaScope scope(op.scratch);
      linear_forward(op, l, pick(l, float8, x.all_high).rows(first, count), l->weight_for_output(op, weights[i]),
                     ys[i].rows(first, count));
    }
  };
  if (!x.all_there && (any || x.keep_all)) {
    const InputGathers gathers(op, x);
    gather_rows(op, gathers.calls(), work);
  } else if (any) {
    work(0, std::ranges::find_if(ys, wanted)->shape[0]);
  }
}

namespace {

/// Not in parts: backward reads all of it.
void gather_where_not_kept(OpContext& op, LinearInput& x) {
  if (x.all_there) return;
  const InputGathers gathers(op, x);
  for (const Exchange::Gather& g : gathers.calls()) gather_rows(op, g);
}

}  // namespace

void ColumnGroup::backward(OpContext& op, LinearInput& x, std::span<const OutputGradient> dys,
                           std::span<const WeightOperand> weights, std::span<const GradientTarget> dws,
                           const Tensor& dx) const {
  const ArenaScope all(op.scratch);
  const bool makes_weights = !dws.empty();
  if (makes_weights) gather_where_not_kept(op, x);
  const Tensor partial = partial_of(op, dx);
  const Tensor x_float8 = makes_weights ? for_grad_weight(op, x) : Tensor{};
  for (std::size_t i = 0; i < linears_.size(); ++i) {
    const LinearRecipe& l = linears_[i];
    const ArenaScope scope(op.scratch);
    const GradOperand dy = operands(op, l, dys[i]);
    {
      const ArenaScope of_weight(op.scratch);
      const Tensor w = for_grad_input(op, l, weights[i]);
      const auto grad_input = [&](std::int64_t first, std::int64_t count) {
        linear_grad_input(op, l, dy.for_input.rows(first, count), w, partial.rows(first, count), i > 0);
      };
      // Before the last linear the sum is not whole, and nothing of it can leave.
      if (i + 1 == linears_.size()) {
        sum_rows(op, partial, dx, grad_input);
      } else {
        grad_input(0, partial.shape[0]);
      }
    }
    if (makes_weights) grad_weight(op, l, dy, x, x_float8, dws[i]);
  }
}

void ColumnGroup::weight_gradients(OpContext& op, LinearInput& x, std::span<const OutputGradient> dys,
                                   std::span<const GradientTarget> dws) const {
  const ArenaScope all(op.scratch);
  gather_where_not_kept(op, x);
  const Tensor x_float8 = for_grad_weight(op, x);
  for (std::size_t i = 0; i < linears_.size(); ++i) {
    const ArenaScope scope(op.scratch);
    grad_weight(op, linears_[i], operands(op, linears_[i], dys[i]), x, x_float8, dws[i]);
  }
}

void RowLinear::forward(OpContext& op, LinearInput& x, const Tensor& weight, const Tensor& y) const {
  const LinearRecipe& l = linears_.front();
  const ArenaScope scope(op.scratch);
  const Tensor partial = partial_of(op, y);
  const Tensor read = l->input_for_output(op, kept(x));
  sum_rows(op, partial, y, [&](std::int64_t first, std::int64_t count) {
    const ArenaScope of_weight(op.scratch);
    linear_forward(op, l, read.rows(first, count), l->weight_for_output(op, weight), partial.rows(first, count));
  });
}

void RowLinear::backward(OpContext& op, LinearInput& x, const OutputGradient& dy, const WeightOperand& weight,
                         const GradientTarget& dw, const Tensor& dx) const {
  const LinearRecipe& l = linears_.front();
  const ArenaScope scope(op.scratch);
  const bool makes_weight = dw.tensor.shape.rank() != 0;
  const Tensor x_float8 = makes_weight ? for_grad_weight(op, x) : Tensor{};
  // For one GEMM the weight is made for its length, for several before them.
  const bool parts = op.exchange.pipelined();
  const Tensor w_of_parts = parts ? for_grad_input(op, l, weight) : Tensor{};
  const GradOperand all = gather(op, dy, [&](const Tensor& rows, std::int64_t first) {
    const ArenaScope of_weight(op.scratch);
    const Tensor w = parts ? w_of_parts : for_grad_input(op, l, weight);
    linear_grad_input(op, l, rows, w, dx.rows(first, rows.shape[0]), false);
  });
  if (makes_weight) grad_weight(op, l, all, x, x_float8, dw);
}

void RowLinear::weight_gradient(OpContext& op, LinearInput& x, const OutputGradient& dy,
                                const GradientTarget& dw) const {
  const ArenaScope scope(op.scratch);
  const Tensor x_float8 = for_grad_weight(op, x);
  const GradOperand all = gather(op, dy, [](const Tensor&, std::int64_t) {});
  grad_weight(op, linears_.front(), all, x, x_float8, dw);
}

GradOperand RowLinear::gather(OpContext& op, const OutputGradient& dy, const RowsGradientWork& work) const {
  const LinearRecipe& l = linears_.front();
  if (op.exchange.part().count == 1 || l->casts_where_read()) {
    const GradOperand all = dy.is_cast() ? operands(op, l, dy) : l->grad_output(op, gather_rows(op, dy.dy), dy.scale);
    work(all.for_input, 0);
    return all;
  }
  const Exchange::Gather gather =
      gather_of(op, dy.is_cast() ? dy.quantized : l->sent_grad_output(op, dy.dy, dy.scale), false);
  gather_rows(op, std::span(&gather, 1),
              [&](std::int64_t first, std::int64_t count) { work(gather.whole.rows(first, count), first); });
  return l->gathered_grad_output(op, gather.whole);
}

}  // namespace octet
