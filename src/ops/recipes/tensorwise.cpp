#include "src/ops/recipes/tensorwise.h"

#include "src/ops/recipes/recipe_list.h"

namespace octet {
namespace {

/// The transposed copy of x where kernels want one, or x.
Tensor along_k(OpContext& op, const Tensor& x) {
  return op.kernels.float8_gemm_k_major ? transpose(op, x) : x;
}

}  // namespace

const RecipeEntry tensorwise_entry{"tensorwise", "one a tensor, from its absolute maximum at the time",
                                   make_recipe<TensorwiseRecipe>};

Tensor TensorwiseRecipe::cast_input(OpContext& op, const CastSource& x, const QuantScale& scale, bool again,
                                    void* storage, void* transposed, const StatsOut& stats) const {
  return again ? cast(op, x, input_format, scale, storage, transposed)
               : quantize(op, x, input_format, scale, power_of_two(), storage, transposed, stats);
}

Tensor TensorwiseRecipe::input_for_grad_weight(OpContext& op, const Tensor& x) const {
  return along_k(op, x);
}

Tensor TensorwiseRecipe::weight_for_grad_input(OpContext& op, const Tensor& w) const {
  return along_k(op, w);
}

GradOperand TensorwiseRecipe::grad_output(OpContext& op, const Tensor& dy, const QuantScale& scale) const {
  void* storage = op.scratch.allocate(dy.elements());
  void* transposed = op.kernels.float8_gemm_k_major ? op.scratch.allocate(dy.elements()) : nullptr;
  const Tensor rows = quantize(op, dy, grad_output_format(), scale, power_of_two(), storage, transposed);
  if (!op.kernels.float8_gemm_k_major) return {rows, rows};
  return {rows, {transposed, rows.dtype, {dy.shape[1], dy.shape[0]}, rows.inverse_scale}};
}

Tensor TensorwiseRecipe::sent_grad_output(OpContext& op, const Tensor& dy, const QuantScale& scale) const {
  return quantize(op, dy, grad_output_format(), scale, power_of_two(), op.scratch.allocate(dy.elements()));
}

GradOperand TensorwiseRecipe::gathered_grad_output(OpContext& op, const Tensor& dy) const {
  return {dy, along_k(op, dy)};
}

}  // namespace octet
