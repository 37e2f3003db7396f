#pragma once

#include "src/ops/recipes/float8_recipe.h"

namespace octet {

/// One scale a tensor, from its own abs-max at the time: torchao's "tensorwise". e5m2 for output gradients.
class TensorwiseRecipe : public Float8Recipe {
 public:
  explicit TensorwiseRecipe(const Float8Config& config) : TensorwiseRecipe(config, "a tensor of its own abs-max") {}

  bool casts_first() const override { return true; }
  DType grad_output_format() const override { return DType::e5m2; }
  bool has_limits() const override { return true; }
  bool too_small(std::int64_t n, std::int64_t k) const override { return n <= 1024 && k <= 4096; }

  Tensor cast_input(OpContext& op, const CastSource& x, const QuantScale& scale, bool again, void* storage,
                    void* transposed, const StatsOut& stats) const override;
  Tensor input_for_grad_weight(OpContext& op, const Tensor& x) const override;
  Tensor weight_for_grad_input(OpContext& op, const Tensor& w) const override;
  GradOperand grad_output(OpContext& op, const Tensor& dy, const QuantScale& scale) const override;
  Tensor sent_grad_output(OpContext& op, const Tensor& dy, const QuantScale& scale) const override;
  GradOperand gathered_grad_output(OpContext& op, const Tensor& dy) const override;

 protected:
  TensorwiseRecipe(const Float8Config& config, std::string_view scales) : Float8Recipe(config, scales) {}
};

}  // namespace octet
