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

struct Float8Config {
  std::string recipe = "tensorwise";
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

/// Whether fp8 weights travel as fp8 bytes.
inline bool gathers_float8(const Float8Config& c) {
  return c.all_gather != "false";
}

/// Whether scales are rounded down to a power of two, which makes the multiplication by them exact.
inline bool power_of_two_scales(const Float8Config& c) {
  return c.round_scales_to_power_of_two == "true";
}

}  // namespace octet
