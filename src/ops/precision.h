#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/dtype.h"
#include "src/base/named_enum.h"

namespace octet {

/// What a run computes in. fp32 is for proofs; bf16 stores activations and gathered weights in bf16; float8 is bf16
/// with fp8 GEMMs in the seven linears of every block. Master weights, moments and reduced gradients are always fp32.
enum class Precision : std::uint8_t { fp32, bf16, float8 };

constexpr auto names_of(Precision) {
  return std::to_array<std::string_view>({"fp32", "bf16", "float8"});
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

/// Which fp8 GEMMs a GPU sums with fast accumulation (`float8.fast_accumulate`): the forward pass, as torchao has it,
/// or those of the gradients too, which is faster and less exact.
enum class FastAccumulate : std::uint8_t { forward, all };
constexpr auto names_of(FastAccumulate) {
  return std::to_array<std::string_view>({"forward", "all"});
}

/// How the CPU sums the products of fp8 GEMMs (`float8.accumulate`): in fp32, or with Hopper's arithmetic, `hopper`
/// with the split into fast and promoted sums that `float8.fast_accumulate` says, `hopper_fast` and `hopper_slow`
/// without a split.
enum class Float8Accumulate : std::uint8_t { fp32, hopper, hopper_fast, hopper_slow };
constexpr auto names_of(Float8Accumulate) {
  return std::to_array<std::string_view>({"fp32", "hopper", "hopper_fast", "hopper_slow"});
}

constexpr Float8Sums float8_sums(Float8Accumulate accumulate, FastAccumulate fast) {
  const bool all = fast == FastAccumulate::all;
  switch (accumulate) {
    case Float8Accumulate::fp32:
      return {.fast_gradients = all};
    case Float8Accumulate::hopper:
      return {.emulate_hopper = true, .fast_gradients = all};
    case Float8Accumulate::hopper_fast:
      return {.emulate_hopper = true, .fast_output = true, .fast_gradients = true};
    case Float8Accumulate::hopper_slow:
      return {.emulate_hopper = true, .fast_output = false, .fast_gradients = false};
  }
  return {};
}

/// Which of the abs-maxes that recipe delayed remembers gives the scale.
enum class DelayedAlgorithm : std::uint8_t { max, most_recent };
constexpr auto names_of(DelayedAlgorithm) {
  return std::to_array<std::string_view>({"max", "most_recent"});
}

struct Float8Config {
  std::string recipe = "tensorwise";  ///< one of float8_recipe_names() (src/ops/recipes/recipe_list.h)
  /// Recipe delayed alone reads these: steps of abs-max history, and powers of two below the format's maximum.
  std::int64_t delayed_history = 1024;
  std::int64_t delayed_margin = 0;
  DelayedAlgorithm delayed_algorithm = DelayedAlgorithm::max;
  /// yes: cast weights on the owning shard and gather fp8 bytes; no: gather bf16 and cast the gathered weight.
  /// automatic: where the recipe allows it (Recipe::gathers_float8).
  AutoBool all_gather = AutoBool::automatic;
  /// Where kernels read along k only and weights stay gathered until the optimizer step: with transposed copies.
  /// automatic: where the device's memory has room for them.
  AutoBool keep_transposed_weights = AutoBool::automatic;
  AutoBool round_scales_to_power_of_two = AutoBool::automatic;  ///< automatic: as the recipe has it
  FastAccumulate fast_accumulate = FastAccumulate::forward;
  Float8Accumulate accumulate = Float8Accumulate::fp32;
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
