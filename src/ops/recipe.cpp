#include "src/ops/recipe.h"

#include "src/base/error.h"

namespace octet {

const Float8Sums& Recipe::sums() const {
  static constexpr Float8Sums none{};
  return none;
}

std::unique_ptr<Float8Scaling> Recipe::make_scaling(const CastCounts&, Stream&) const {
  return std::make_unique<DynamicScaling>();
}

Tensor Recipe::cast_input(OpContext&, const CastSource&, const QuantScale&, bool, void*, void*, const StatsOut&) const {
  throw internal_error("ops", "a recipe that does not cast first was asked to cast an input");
}

const RecipePtr& plain_recipe() {
  static const RecipePtr plain = std::make_shared<const Recipe>();
  return plain;
}

}  // namespace octet
