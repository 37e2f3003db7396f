#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/ops/precision.h"

namespace octet {

/// What sets one value of `float8.recipe` apart, in one place: all else asks this and not the name.
struct Float8Recipe {
  std::string_view name;
  std::string_view scales{};  ///< where they come from, in words
  /// Whether a weight [n, k] is so small that its linear is faster in bf16, by H100 measurements: torchao's
  /// _auto_filter_for_recipe (float8_linear_utils.py). Null where torchao has none.
  bool (*too_small)(std::int64_t n, std::int64_t k) = nullptr;

  /// Which values share a scale: torchao's recipes of the same names.
  ScalingGranularity granularity = ScalingGranularity::tensorwise;
  /// Scales come from the abs-maxes of steps before: state, which checkpoints hold.
  bool remembers = false;

  /// Weights can travel as fp8 bytes: only a scale of the whole tensor is known before the tensor is.
  bool may_gather_float8() const { return granularity == ScalingGranularity::tensorwise; }
  bool is_too_small(std::int64_t n, std::int64_t k) const { return too_small != nullptr && too_small(n, k); }
};

/// A run's recipe whole, for its log: "recipe delayed: ...".
std::string describe(const Float8Config& float8);

/// Usage error for a name that is none.
const Float8Recipe& float8_recipe(std::string_view name);

std::vector<std::string> float8_recipe_names();

/// Whether fp8 weights travel as fp8 bytes: `all_gather`, where the recipe allows it.
bool gathers_float8(const Float8Config& float8);

/// Whether scales are rounded down to a power of two, which makes the multiplication by them exact.
bool power_of_two_scales(const Float8Config& float8);

}  // namespace octet
