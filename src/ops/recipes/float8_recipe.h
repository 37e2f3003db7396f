#pragma once

#include "src/ops/recipe.h"

namespace octet {

/// What all fp8 recipes have in common: the run's settings, and their words.
class Float8Recipe : public Recipe {
 public:
  bool float8() const override { return true; }
  const Float8Sums& sums() const override { return sums_; }
  bool gathers_float8() const override { return casts_first() && decided(config_.all_gather, true); }
  bool power_of_two() const override;
  /// cuBLASLt, "Using FP8": from Ada on.
  bool runs_on(int compute_capability) const override { return compute_capability >= 89; }
  std::string_view gpus() const override { return "compute capability 8.9 or later"; }
  std::string describe() const override;

 protected:
  /// `scales`: what shares a scale, in words; `power_of_two`: what `auto` stands for.
  Float8Recipe(const Float8Config& config, std::string_view scales, bool power_of_two = false);

  const Float8Config& config() const { return config_; }
  /// What the description has to add: "; history 16 steps".
  virtual std::string more() const { return {}; }

 private:
  Float8Config config_;
  std::string_view scales_;
  bool power_of_two_;
  Float8Sums sums_;
};

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

/// A value of `float8.recipe`; each file of this folder has those that it defines.
struct RecipeEntry {
  std::string_view name;
  std::string_view help;
  RecipePtr (*make)(const Float8Config& config);
};
extern const RecipeEntry tensorwise_entry, rowwise_entry, rowwise_with_gw_hp_entry, delayed_entry, blockwise_entry;

template <typename T>
RecipePtr make_recipe(const Float8Config& config) {
  return std::make_shared<const T>(config);
}

}  // namespace octet
