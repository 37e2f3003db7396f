#include "src/ops/linear.h"

#include <algorithm>
#include <array>

#include "src/ops/linear_gemms.h"

namespace octet {

LinearGroup::LinearGroup(std::vector<LinearRecipe> linears) : linears_(std::move(linears)) {
  for (const LinearRecipe& linear : linears_) {
    if (linear.float8()) {
      fp8_recipe_ = linear.recipe;
    } else {
      any_plain_ = true;
    }
  }
}

void LinearGroup::cast(OpContext& op, LinearInput& x, const CastSource& source, bool again,
                       const StatsOut& stats) const {
  if (casts_first()) {
    x.quantized = fp8_recipe_->cast_input(op, source, x.scale, again, x.quantized.data, x.transposed.data, stats);
  }
  if (x.keeps_transposed()) x.transposed.inverse_scale = x.quantized.inverse_scale;
  nothing_gathered(x);
}

Float8Out LinearGroup::float8_destination(const LinearInput& x, bool transposed) {
  if (!x.is_cast_by_producer()) return {};
  return {.y = x.quantized.data,
          .y_transposed = transposed ? x.transposed.data : nullptr,
          .format = x.quantized.dtype,
          .scale = x.scale.scale};
}

void LinearGroup::finish_producer_cast(OpContext& op, LinearInput& x, bool transposed) const {
  x.quantized.inverse_scale = x.transposed.inverse_scale = x.scale.inverse;
  if (x.keeps_transposed() && !transposed) transpose(op, x.quantized, x.transposed.data);
  nothing_gathered(x);
}

void LinearGroup::nothing_gathered(LinearInput& x) {
  x.gathered_high = x.high;
  x.gathered_quantized = x.quantized;
  x.is_gathered = false;
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
  linear_grad_weight(op, linear, dy.for_weight, pick(linear, float8, x.gathered_high), dw.tensor, dw.accumulate);
}

namespace {

/// The forms of x that travel, each with where it goes: around it when they are kept, or into scratch.
struct InputGathers {
  std::array<Exchange::Gather, 2> all;
  std::size_t count = 0;

  InputGathers(OpContext& op, LinearInput& x) {
    const auto add = [&](const Tensor& local) {
      all[count] = gather_of(op, local, x.keep_gathered);
      return all[count++].whole;
    };
    if (x.keep_high) x.gathered_high = add(x.high);
    if (x.is_cast()) x.gathered_quantized = add(x.quantized);
    x.is_gathered = x.keep_gathered;
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
    const Tensor float8 =
        fp8_recipe_->input_for_output(op, fp8_source(x));  // where it casts here, all tokens come at once
    for (std::size_t i = 0; i < linears_.size(); ++i) {
      if (!wanted(ys[i])) continue;
      const LinearRecipe& linear = linears_[i];
      const ArenaScope scope(op.scratch);
      linear_forward(op, linear, pick(linear, float8, x.gathered_high).rows(first, count),
                     linear->weight_for_output(op, weights[i]), ys[i].rows(first, count));
    }
  };
  if (!x.is_gathered && (any || x.keep_gathered)) {
    const InputGathers gathers(op, x);
    gather_rows(op, gathers.calls(), work);
  } else if (any) {
    work(0, std::ranges::find_if(ys, wanted)->shape[0]);
  }
}

namespace {

/// Not in parts: backward reads all of it.
void gather_where_not_kept(OpContext& op, LinearInput& x) {
  if (x.is_gathered) return;
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
    const LinearRecipe& linear = linears_[i];
    const ArenaScope scope(op.scratch);
    const GradOperand dy = operands(op, linear, dys[i]);
    {
      const ArenaScope of_weight(op.scratch);
      const Tensor w = for_grad_input(op, linear, weights[i]);
      const auto grad_input = [&](std::int64_t first, std::int64_t count) {
        linear_grad_input(op, linear, dy.for_input.rows(first, count), w, partial.rows(first, count), i > 0);
      };
      // Before the last linear the sum is not whole, and nothing of it can leave.
      if (i + 1 == linears_.size()) {
        sum_rows(op, partial, dx, grad_input);
      } else {
        grad_input(0, partial.shape[0]);
      }
    }
    if (makes_weights) grad_weight(op, linear, dy, x, x_float8, dws[i]);
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
  const LinearRecipe& linear = linears_.front();
  const ArenaScope scope(op.scratch);
  const Tensor partial = partial_of(op, y);
  const Tensor read = linear->input_for_output(op, fp8_source(x));
  sum_rows(op, partial, y, [&](std::int64_t first, std::int64_t count) {
    const ArenaScope of_weight(op.scratch);
    linear_forward(op, linear, read.rows(first, count), linear->weight_for_output(op, weight),
                   partial.rows(first, count));
  });
}

void RowLinear::backward(OpContext& op, LinearInput& x, const OutputGradient& dy, const WeightOperand& weight,
                         const GradientTarget& dw, const Tensor& dx) const {
  const LinearRecipe& linear = linears_.front();
  const ArenaScope scope(op.scratch);
  const bool makes_weight = dw.tensor.shape.rank() != 0;
  const Tensor x_float8 = makes_weight ? for_grad_weight(op, x) : Tensor{};
  // Where one GEMM reads the weight, its form for this GEMM exists only during the GEMM; where several GEMMs do, one
  // for each part, it is made before the first.
  const bool parts = op.exchange.pipelined();
  const Tensor w_of_parts = parts ? for_grad_input(op, linear, weight) : Tensor{};
  const GradOperand all = gather(op, dy, [&](const Tensor& rows, std::int64_t first) {
    const ArenaScope of_weight(op.scratch);
    const Tensor w = parts ? w_of_parts : for_grad_input(op, linear, weight);
    linear_grad_input(op, linear, rows, w, dx.rows(first, rows.shape[0]), false);
  });
  if (makes_weight) grad_weight(op, linear, all, x, x_float8, dw);
}

void RowLinear::weight_gradient(OpContext& op, LinearInput& x, const OutputGradient& dy,
                                const GradientTarget& dw) const {
  const ArenaScope scope(op.scratch);
  const Tensor x_float8 = for_grad_weight(op, x);
  const GradOperand all = gather(op, dy, [](const Tensor&, std::int64_t) {});
  grad_weight(op, linears_.front(), all, x, x_float8, dw);
}

GradOperand RowLinear::gather(OpContext& op, const OutputGradient& dy, const RowsGradientWork& work) const {
  const LinearRecipe& linear = linears_.front();
  if (op.exchange.part().count == 1 || linear->casts_where_read()) {
    const GradOperand all =
        dy.is_cast() ? operands(op, linear, dy) : linear->grad_output(op, gather_rows(op, dy.dy), dy.scale);
    work(all.for_input, 0);
    return all;
  }
  const Exchange::Gather gather =
      gather_of(op, dy.is_cast() ? dy.quantized : linear->sent_grad_output(op, dy.dy, dy.scale), false);
  gather_rows(op, std::span(&gather, 1),
              [&](std::int64_t first, std::int64_t count) { work(gather.whole.rows(first, count), first); });
  return linear->gathered_grad_output(op, gather.whole);
}

}  // namespace octet
