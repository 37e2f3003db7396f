#include "src/run_config/checks/checks.h"

#include <algorithm>

#include "src/base/options/text.h"
#include "src/model/gemm_formats.h"
#include "src/ops/recipes/recipe_list.h"

namespace octet {
namespace {

/// Every entry of a list of name parts is in a name; otherwise it would have no effect.
void check_parts(const std::vector<std::string>& parts, const std::vector<std::string>& names,
                 const std::vector<std::string>& proposals, const char* key, const std::string& what,
                 const Origins& at) {
  for (const std::string& part : parts) {
    const bool used = !part.empty() && std::any_of(names.begin(), names.end(), [&](const std::string& name) {
      return name.find(part) != std::string::npos;
    });
    if (!used) throw refuse(at, key, in_quotes(part), "{}; nearest: {}", what, nearest(part, proposals));
  }
}

}  // namespace

void check_names(const RunConfig& c, const Origins& at) {
  std::vector<std::string> linears, weights, parameters;
  for (const LinearRecipe& l : block_recipes(c.model, Precision::float8, {}, 0)) linears.emplace_back(l.name);
  for (const ParameterSpec& p : llama_parameters(c.model, Precision::float8, {}).parameters) {
    parameters.push_back(p.name);
    if (is_float8(p.gathered)) weights.push_back(p.name);
  }
  check_parts(c.float8.bf16_linears, weights, linears, "float8.bf16_linears",
              "expected a part of a weight's name, layers.N.NAME.weight with a NAME of " + joined(linears), at);
  check_parts(c.optimizer.no_decay, parameters, parameters, "optimizer.no_decay",
              "expected a part of a parameter's name", at);
}

/// Scales of rows and columns are known only where the whole weight is.
void check_float8_gather(const RunConfig& c, const Origins& at) {
  if (c.precision != Precision::float8 || c.float8.all_gather != AutoBool::yes) return;
  if (float8_recipe(c.float8)->casts_first()) return;
  throw refuse(at, "float8.all_gather", c.float8.all_gather,
               "recipe {} casts weights after they are gathered; expected auto or false, or recipe {}", c.float8.recipe,
               alternatives(float8_recipes_where(&Recipe::casts_first)));
}

namespace {

/// Options of a recipe that remembers would be ignored by the others.
void check_delayed(const Float8Config& c, const Recipe& recipe, const Origins& at) {
  if (recipe.remembers()) return;
  const Float8Config none;
  const auto unused = [&](const char* key, const auto& value, const auto& expected) {
    if (value != expected) throw refuse(at, key, value, "has no effect with float8.recipe = {}", c.recipe);
  };
  unused("float8.delayed_history", c.delayed_history, none.delayed_history);
  unused("float8.delayed_margin", c.delayed_margin, none.delayed_margin);
  unused("float8.delayed_algorithm", c.delayed_algorithm, none.delayed_algorithm);
}

/// Copies of weights are made where a GPU's GEMMs read 8-bit weights as they were gathered, and stay as long as those.
void check_transposed_weights(const RunConfig& c, const Recipe& recipe, const Origins& at) {
  if (c.float8.keep_transposed_weights != AutoBool::yes) return;
  const auto check = [&](bool holds, const std::string& why) {
    if (!holds) throw refuse(at, "float8.keep_transposed_weights", true, "{}; expected auto or false", why);
  };
  check(c.device == DeviceType::cuda, "has no effect with device = cpu, whose GEMMs read weights as they are");
  check(recipe.casts_first(), "recipe " + c.float8.recipe + " casts weights where a GEMM reads them");
}

/// Fast sums of gradients are the GPU's, or those of the CPU's emulation of it.
void check_fast_accumulate(const RunConfig& c, const Recipe& recipe, const Origins& at) {
  const FastAccumulate fast = c.float8.fast_accumulate;
  if (fast == FastAccumulate::forward) return;
  if (!recipe.may_sum_fast()) {
    throw refuse(at, "float8.fast_accumulate", fast,
                 "recipe {} promotes its sums to fp32 every 128 products, to apply the scales, so fast accumulation is "
                 "not possible; expected forward",
                 c.float8.recipe);
  }
  if (c.device == DeviceType::cuda || c.float8.accumulate == Float8Accumulate::hopper) return;
  throw refuse(at, "float8.fast_accumulate", fast,
               "has no effect with device = {} and float8.accumulate = {}; expected forward, or accumulate hopper",
               c.device, c.float8.accumulate);
}

}  // namespace

void check_float8(const RunConfig& c, const Origins& at) {
  if (c.precision != Precision::float8) return;
  const RecipePtr recipe = float8_recipe(c.float8);
  if (c.float8.filter_small_kn && !recipe->has_limits()) {
    throw refuse(at, "float8.filter_small_kn", true,
                 "torchao has no measured limits for recipe {}; list linears in float8.bf16_linears", c.float8.recipe);
  }
  if (c.float8.accumulate == Float8Accumulate::hopper_fast && !recipe->may_sum_fast()) {
    throw refuse(at, "float8.accumulate", c.float8.accumulate,
                 "recipe {} promotes its sums to fp32 every 128 products, to apply the scales, so fast accumulation is "
                 "not possible; expected fp32, hopper or hopper_slow",
                 c.float8.recipe);
  }
  check_fast_accumulate(c, *recipe, at);
  check_transposed_weights(c, *recipe, at);
  check_delayed(c.float8, *recipe, at);
  bool any = false;
  for (const EqualBlocks& blocks : equal_blocks(c.model, c.precision, c.float8)) {
    check_float8_gemms(c, blocks.recipes, at);
    any = any || std::ranges::any_of(blocks.recipes, &LinearRecipe::float8);
  }
  if (any) return;
  throw refuse(at, "precision", "float8",
               "no linear is left in it: float8.bf16_linears [{}], bf16_first_layers {}, bf16_last_layers {} of {} and "
               "filter_small_kn {} keep all in bf16; expected precision bf16",
               joined(c.float8.bf16_linears), c.float8.bf16_first_layers, c.float8.bf16_last_layers, c.model.layers,
               c.float8.filter_small_kn);
}

}  // namespace octet
