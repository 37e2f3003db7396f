#include "src/ops/make_scaling.h"

#include "src/ops/delayed_scaling.h"
#include "src/ops/recipe.h"

namespace octet {

std::unique_ptr<Float8Scaling> make_scaling(Precision precision, const Float8Config& float8, const CastCounts& casts,
                                            Stream& stream) {
  if (precision == Precision::float8 && float8_recipe(float8.recipe).remembers) {
    return std::make_unique<DelayedScaling>(casts, DelayedSettings::of(float8), stream);
  }
  return std::make_unique<DynamicScaling>();
}

}  // namespace octet
