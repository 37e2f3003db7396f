#include "src/ops/recipe.h"

#include <algorithm>
#include <array>

#include "src/base/error.h"
#include "src/base/options/text.h"

namespace octet {
namespace {

constexpr std::array recipes = {
    Float8Recipe{.name = "tensorwise",
                 .too_small = [](std::int64_t n, std::int64_t k) { return n <= 1024 && k <= 4096; }},
};

}  // namespace

const Float8Recipe& float8_recipe(std::string_view name) {
  const auto* found = std::ranges::find(recipes, name, &Float8Recipe::name);
  if (found != recipes.end()) return *found;
  throw usage_error("ops", "float8.recipe = \"{}\", expected one of {}", name, joined(float8_recipe_names()));
}

std::vector<std::string> float8_recipe_names() {
  std::vector<std::string> names;
  for (const Float8Recipe& recipe : recipes) names.emplace_back(recipe.name);
  return names;
}

}  // namespace octet
