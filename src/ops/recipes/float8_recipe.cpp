#include "src/ops/recipes/float8_recipe.h"

#include <fmt/format.h>

#include "src/base/options/text.h"

namespace octet {

Float8Recipe::Float8Recipe(const Float8Config& config, std::string_view scales, bool power_of_two)
    : config_(config),
      scales_(scales),
      power_of_two_(power_of_two),
      sums_(float8_sums(config.accumulate, config.fast_accumulate)) {}

bool Float8Recipe::power_of_two() const {
  return decided(config_.round_scales_to_power_of_two, power_of_two_);
}

std::string Float8Recipe::describe() const {
  return fmt::format(
      "recipe {}: inputs and weights {}, output gradients {}, one scale {}, {} to powers of two; weights gathered in "
      "{}{}; in bf16: first {} and last {} blocks, linears [{}], small ones {}",
      config_.recipe, name_of(input_format), name_of(grad_output_format()), scales_,
      power_of_two() ? "rounded" : "not rounded", gathers_float8() ? "fp8" : "bf16", more(), config_.bf16_first_layers,
      config_.bf16_last_layers, joined(config_.bf16_linears), config_.filter_small_kn ? "by torchao's limits" : "not");
}

}  // namespace octet
