#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "src/base/options/text.h"
#include "src/ops/recipes/float8_recipe.h"

namespace octet {
namespace {

/// Every value of `float8.recipe`, in the order of the help text.
constexpr std::array entries = {&tensorwise_entry, &rowwise_entry, &rowwise_with_gw_hp_entry, &delayed_entry,
                                &blockwise_entry};

}  // namespace

RecipePtr float8_recipe(const Float8Config& float8) {
  const auto* found = std::ranges::find(entries, float8.recipe, [](const RecipeEntry* e) { return e->name; });
  if (found != entries.end()) return (*found)->make(float8);
  throw usage_error("ops", "float8.recipe = \"{}\", expected one of {}", float8.recipe, joined(float8_recipe_names()));
}

std::vector<std::string> float8_recipe_names() {
  std::vector<std::string> names;
  names.reserve(entries.size());
  for (const RecipeEntry* e : entries) names.emplace_back(e->name);
  return names;
}

std::string float8_recipe_help() {
  std::string text;
  for (const RecipeEntry* e : entries) text += fmt::format("{}{}: {}.", text.empty() ? "" : " ", e->name, e->help);
  return text;
}

}  // namespace octet
