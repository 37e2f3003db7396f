#include "src/ops/rowwise.h"

namespace octet {
namespace {

constexpr DType format = DType::e4m3;

/// A place in scratch for one form, and the tensor that will be there.
RowwiseForm take_form(OpContext& context, std::int64_t scales, const Tensor& x) {
  RowwiseForm form;
  form.y = context.scratch.allocate(x.elements());
  form.scale = context.scratch.allocate<float>(scales);
  form.inverse_scale = context.scratch.allocate<float>(scales);
  return form;
}

Tensor by_row_of(const Tensor& x, const RowwiseForm& form) {
  return {form.y, format, x.shape, form.inverse_scale, 0, ScaleForm::each};
}

Tensor by_column_of(const OpContext& context, const Tensor& x, const RowwiseForm& form) {
  if (!context.kernels.float8_gemm_k_major) return {form.y, format, x.shape, form.inverse_scale, 1, ScaleForm::each};
  return {form.y, format, {x.shape[1], x.shape[0]}, form.inverse_scale, 0, ScaleForm::each};
}

void quantize(OpContext& context, const Tensor& x, const RowwiseForm& by_row, const RowwiseForm& by_column) {
  context.kernels.quantize_rowwise(context.stream, {.x = x.data,
                                                    .from = x.dtype,
                                                    .rows = x.shape[0],
                                                    .columns = x.shape[1],
                                                    .to = format,
                                                    .power_of_two = context.power_of_two_scales,
                                                    .by_row = by_row,
                                                    .by_column = by_column,
                                                    .column_transposed = context.kernels.float8_gemm_k_major});
}

/// One scale from the abs-max of what this rank has.
Tensor quantize_whole(OpContext& context, const Tensor& w) {
  const QuantScale scale = QuantScale::allocate(context.scratch);
  void* y = context.scratch.allocate(w.elements());
  const bool turn = context.kernels.float8_gemm_k_major;
  measure(context, w, {.amax = scale.amax, .non_finite = nullptr});
  compute_scale(context, scale, format);
  context.kernels.cast_to_float8(context.stream, {.x = w.data,
                                                  .from = w.dtype,
                                                  .y = turn ? nullptr : y,
                                                  .to = format,
                                                  .n = w.elements(),
                                                  .scale = scale.scale,
                                                  .y_transposed = turn ? y : nullptr,
                                                  .columns = w.shape[1]});
  return {y, format, turn ? Shape{w.shape[1], w.shape[0]} : w.shape, scale.inverse};
}

}  // namespace

Tensor quantize_by_row(OpContext& context, const Tensor& x) {
  const RowwiseForm form = take_form(context, x.shape[0], x);
  quantize(context, x, form, {});
  return by_row_of(x, form);
}

Tensor quantize_by_column(OpContext& context, const Tensor& x) {
  const RowwiseForm form = take_form(context, x.shape[1], x);
  quantize(context, x, {}, form);
  return by_column_of(context, x, form);
}

GradOperand quantize_grad_output(OpContext& context, const LinearRecipe& recipe, const Tensor& dy) {
  if (!recipe.float8_grad_weight()) return {quantize_by_row(context, dy), dy};
  const RowwiseForm rows = take_form(context, dy.shape[0], dy), columns = take_form(context, dy.shape[1], dy);
  quantize(context, dy, rows, columns);
  return {by_row_of(dy, rows), by_column_of(context, dy, columns)};
}

Tensor quantize_weight_for_input(OpContext& context, const LinearRecipe& recipe, const Tensor& w) {
  return recipe.float8_grad_weight() ? quantize_by_column(context, w) : quantize_whole(context, w);
}

}  // namespace octet
