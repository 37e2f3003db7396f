#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/ops/recipe.h"

namespace octet {

/// A value of `float8.recipe`; each file of this folder has those that it defines.
struct RecipeEntry {
  std::string_view name;
  std::string_view help;
  RecipePtr (*make)(const Float8Config& config);
};

template <typename T>
RecipePtr make_recipe(const Float8Config& config) {
  return std::make_shared<const T>(config);
}

extern const RecipeEntry tensorwise_entry, rowwise_entry, rowwise_with_gw_hp_entry, delayed_entry, blockwise_entry;
/// All of them, in the order of the help text.
inline constexpr std::array recipe_entries = {&tensorwise_entry, &rowwise_entry, &rowwise_with_gw_hp_entry,
                                              &delayed_entry, &blockwise_entry};

/// The recipe of a configuration. Usage error for a name that is none.
RecipePtr float8_recipe(const Float8Config& float8);
/// The recipe of a configuration where the precision is float8, else the plain one.
RecipePtr recipe_of(Precision precision, const Float8Config& float8);

std::vector<std::string> float8_recipe_names();
/// The names of the recipes that answer yes, as to &Recipe::casts_first; for messages and help.
std::vector<std::string> float8_recipes_where(const std::function<bool(const Recipe&)>& holds);
/// What `--help` says of them.
std::string float8_recipe_help();

}  // namespace octet
