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

/// Of a value of `float8.accumulate`. fp32: the default. Else Hopper's arithmetic, hopper with the default's split into
/// fast and not, hopper_fast and hopper_slow without a split. Usage error: another word.
inline Float8Sums float8_sums(std::string_view accumulate) {
  if (accumulate == "fp32") return {};
  if (accumulate == "hopper") return {.emulate_hopper = true};
  if (accumulate == "hopper_fast") return {.emulate_hopper = true, .fast_output = true, .fast_gradients = true};
  if (accumulate == "hopper_slow") return {.emulate_hopper = true, .fast_output = false, .fast_gradients = false};
  throw usage_error("ops", "float8.accumulate = \"{}\", expected fp32, hopper, hopper_fast or hopper_slow", accumulate);
}

/// Which values share a scale (torchao's recipes of the same names). tensorwise: a tensor; the output gradient is e5m2.
/// rowwise: a vector along which a GEMM contracts; all operands e4m3, weights cast where they are used.
/// rowwise_with_gw_hp: likewise, but the weight has one scale in the GEMM of the input's gradient, and the GEMM of the
/// weight's gradient is bf16.
enum class Float8Scaling : std::uint8_t { tensorwise, rowwise, rowwise_with_gw_hp };

inline constexpr std::array<std::string_view, 3> recipe_names = {"tensorwise", "rowwise", "rowwise_with_gw_hp"};

/// Of a value of `float8.recipe`. Usage error: another word.
inline Float8Scaling float8_scaling(std::string_view recipe) {
  for (std::size_t i = 0; i < recipe_names.size(); ++i) {
    if (recipe == recipe_names[i]) return static_cast<Float8Scaling>(i);
  }
  throw usage_error("ops", "float8.recipe = \"{}\", expected tensorwise, rowwise or rowwise_with_gw_hp", recipe);
}

struct Float8Config {
  std::string recipe = "tensorwise";  ///< one of recipe_names
  /// true: cast weights on the owning shard and gather fp8 bytes; false: gather bf16 and cast the gathered weight.
  /// auto (gathers_float8).
  std::string all_gather = "auto";
  /// auto, true or false (power_of_two_scales).
  std::string round_scales_to_power_of_two = "auto";
  /// How the CPU sums the products of fp8 GEMMs: one of accumulate_names (float8_sums).
  std::string accumulate = "fp32";
  /// Linears (substring of the parameter's name) that stay in bf16; required for dimensions that fp8 cannot do.
  std::vector<std::string> bf16_linears;
};

/// Whether fp8 weights can travel as fp8 bytes: only a scale of the whole tensor is known before the tensor is.
inline bool may_gather_float8(const Float8Config& c) {
  return float8_scaling(c.recipe) == Float8Scaling::tensorwise;
}

/// Whether they do.
inline bool gathers_float8(const Float8Config& c) {
  return c.all_gather != "false" && may_gather_float8(c);
}

/// Whether scales are rounded down to a power of two, which makes the multiplication by them exact.
inline bool power_of_two_scales(const Float8Config& c) {
  if (c.round_scales_to_power_of_two != "auto") return c.round_scales_to_power_of_two == "true";
  return float8_scaling(c.recipe) != Float8Scaling::tensorwise;
}

}  // namespace octet
