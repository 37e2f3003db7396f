#include "src/ops/recipe.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "src/base/error.h"
#include "src/base/options/text.h"

namespace octet {
namespace {

constexpr std::array recipes = {
    Float8Recipe{.name = "tensorwise",
                 .scales = "a tensor of its own abs-max",
                 .too_small = [](std::int64_t n, std::int64_t k) { return n <= 1024 && k <= 4096; }},
    Float8Recipe{
        .name = "rowwise",
        .scales = "a vector along which a GEMM sums, of its own abs-max",
        .too_small = [](std::int64_t n, std::int64_t k) { return n <= 2048 || k <= 1024 || (n <= 4096 && k <= 2048); },
        .granularity = ScalingGranularity::rowwise},
    Float8Recipe{.name = "rowwise_with_gw_hp",
                 .scales = "a vector along which a GEMM sums, of its own abs-max; weight gradients in bf16",
                 .granularity = ScalingGranularity::rowwise_with_gw_hp},
    Float8Recipe{.name = "delayed", .scales = "a tensor of the abs-maxes of steps before", .remembers = true},
};

}  // namespace

const Float8Recipe& float8_recipe(std::string_view name) {
  const auto* found = std::ranges::find(recipes, name, &Float8Recipe::name);
  if (found != recipes.end()) return *found;
  throw usage_error("ops", "float8.recipe = \"{}\", expected one of {}", name, joined(float8_recipe_names()));
}

std::string describe(const Float8Config& c) {
  const Float8Recipe& recipe = float8_recipe(c.recipe);
  std::string text = fmt::format(
      "recipe {}: inputs and weights e4m3, output gradients {}, one scale {}, {} to powers of two; weights gathered in "
      "{}",
      c.recipe, recipe.granularity == ScalingGranularity::tensorwise ? "e5m2" : "e4m3", recipe.scales,
      power_of_two_scales(c) ? "rounded" : "not rounded", gathers_float8(c) ? "fp8" : "bf16");
  if (recipe.remembers) {
    text += fmt::format("; history {} steps, {}, margin {}, MAX over all ranks once a step, first step dynamic",
                        c.delayed_history, c.delayed_algorithm, c.delayed_margin);
  }
  return text + fmt::format("; in bf16: first {} and last {} blocks, linears [{}], small ones {}", c.bf16_first_layers,
                            c.bf16_last_layers, joined(c.bf16_linears),
                            c.filter_small_kn ? "by torchao's limits" : "not");
}

std::vector<std::string> float8_recipe_names() {
  std::vector<std::string> names;
  for (const Float8Recipe& recipe : recipes) names.emplace_back(recipe.name);
  return names;
}

bool gathers_float8(const Float8Config& c) {
  return c.all_gather != "false" && float8_recipe(c.recipe).may_gather_float8();
}

bool power_of_two_scales(const Float8Config& c) {
  if (c.round_scales_to_power_of_two != "auto") return c.round_scales_to_power_of_two == "true";
  return float8_recipe(c.recipe).granularity != ScalingGranularity::tensorwise;
}

}  // namespace octet
