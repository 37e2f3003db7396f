#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/dtype.h"
#include "src/base/error.h"

namespace octet {

/// What a run computes in. fp32 is for proofs; bf16 stores activations and gathered weights in bf16; float8 is bf16
/// with fp8 GEMMs in the seven linears of every block. Master weights, moments and reduced gradients are always fp32.
enum class Precision : std::uint8_t { fp32, bf16, float8 };

constexpr std::string_view name_of(Precision p) {
  return p == Precision::fp32 ? "fp32" : p == Precision::bf16 ? "bf16" : "float8";
}

/// dtype of activations, and of gathered weights that do not feed an fp8 GEMM.
constexpr DType storage_dtype(Precision p) {
  return p == Precision::fp32 ? DType::f32 : DType::bf16;
}

/// How the products of the three GEMMs of a float8 linear are summed; the fields are those of Gemm. The default is the
/// GPU's own way and fp32 on the CPU.
struct Float8Sums {
  bool emulate_hopper = false;
  bool fast_output = true;
  bool fast_gradients = false;  ///< of input and weight

  bool operator==(const Float8Sums&) const = default;
};

inline constexpr std::array<std::string_view, 4> accumulate_names = {"fp32", "hopper", "hopper_fast", "hopper_slow"};

/// The sums that a value of `float8.accumulate` stands for. fp32 is the default. The others are Hopper's arithmetic:
/// hopper with the default's split into fast and not, hopper_fast and hopper_slow without a split. Usage error: another
/// word.
inline Float8Sums float8_sums(std::string_view accumulate) {
  if (accumulate == "fp32") return {};
  if (accumulate == "hopper") return {.emulate_hopper = true};
  if (accumulate == "hopper_fast") return {.emulate_hopper = true, .fast_output = true, .fast_gradients = true};
  if (accumulate == "hopper_slow") return {.emulate_hopper = true, .fast_output = false, .fast_gradients = false};
  throw usage_error("ops", "float8.accumulate = \"{}\", expected fp32, hopper, hopper_fast or hopper_slow", accumulate);
}

struct Float8Config {
  std::string recipe = "tensorwise";  ///< one of float8_recipe_names() (src/ops/recipe.h)
  /// These are options of recipe delayed: steps of abs-max history, powers of two below the format's maximum, max or
  /// most_recent.
  std::int64_t delayed_history = 1024;
  std::int64_t delayed_margin = 0;
  std::string delayed_algorithm = "max";
  /// true: cast weights on the owning shard and gather fp8 bytes; false: gather bf16 and cast the gathered weight.
  /// auto: where the recipe allows it (Recipe::gathers_float8).
  std::string all_gather = "auto";
  /// auto, true or false (Recipe::power_of_two).
  std::string round_scales_to_power_of_two = "auto";
  /// How the CPU sums the products of fp8 GEMMs: one of accumulate_names (float8_sums).
  std::string accumulate = "fp32";
  /// Linears (substring of the parameter's name, "layers.3.attention.wq.weight") that stay in bf16; required for
  /// dimensions that fp8 cannot do.
  std::vector<std::string> bf16_linears{};
  /// Blocks at each end of the model whose linears stay in bf16.
  std::int64_t bf16_first_layers = 0;
  std::int64_t bf16_last_layers = 0;
  /// Linears that fp8 does not make faster stay in bf16 (Recipe::too_small).
  bool filter_small_kn = false;
};

}  // namespace octet
