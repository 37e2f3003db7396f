#include "src/ops/recipes/recipe_list.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/base/error.h"
#include "src/base/options/text.h"

namespace octet {

RecipePtr float8_recipe(const Float8Config& float8) {
  const auto* found = std::ranges::find(recipe_entries, float8.recipe, [](const RecipeEntry* e) { return e->name; });
  if (found != recipe_entries.end()) return (*found)->make(float8);
  throw usage_error("ops", "float8.recipe = \"{}\", expected one of {}", float8.recipe, joined(float8_recipe_names()));
}

RecipePtr recipe_of(Precision precision, const Float8Config& float8) {
  return precision == Precision::float8 ? float8_recipe(float8) : plain_recipe();
}

std::vector<std::string> float8_recipe_names() {
  return float8_recipes_where([](const Recipe&) { return true; });
}

std::vector<std::string> float8_recipes_where(const std::function<bool(const Recipe&)>& holds) {
  std::vector<std::string> names;
  for (const RecipeEntry* e : recipe_entries) {
    if (holds(*e->make({.recipe = std::string(e->name)}))) names.emplace_back(e->name);
  }
  return names;
}

std::string float8_recipe_help() {
  std::string text;
  for (const RecipeEntry* e : recipe_entries)
    text += fmt::format("{}{}: {}.", text.empty() ? "" : " ", e->name, e->help);
  return text;
}

}  // namespace octet
