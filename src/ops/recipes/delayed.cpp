#include <fmt/format.h>

#include "src/ops/recipes/delayed_scaling.h"
#include "src/ops/recipes/recipe_list.h"
#include "src/ops/recipes/tensorwise.h"

namespace octet {
namespace {

/// One scale a tensor, known before the tensor is.
class DelayedRecipe final : public TensorwiseRecipe {
 public:
  explicit DelayedRecipe(const Float8Config& config)
      : TensorwiseRecipe(config, "a tensor of the abs-maxes of steps before") {}

  bool has_limits() const override { return false; }
  bool too_small(std::int64_t, std::int64_t) const override { return false; }
  bool remembers() const override { return true; }
  std::unique_ptr<Float8Scaling> make_scaling(const CastCounts& casts, Stream& stream) const override {
    return std::make_unique<DelayedScaling>(casts, DelayedSettings::of(config(), power_of_two()), stream);
  }

 private:
  std::string more() const override {
    return fmt::format("; history {} steps, {}, margin {}, MAX over all ranks once a step, first step dynamic",
                       config().delayed_history, config().delayed_algorithm, config().delayed_margin);
  }
};

}  // namespace

const RecipeEntry delayed_entry{"delayed",
                                "one a tensor from the maxima of the steps before, as TransformerEngine; what is "
                                "larger than they were saturates, and the first step is dynamic",
                                make_recipe<DelayedRecipe>};

}  // namespace octet
