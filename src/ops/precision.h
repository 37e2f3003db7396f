#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/dtype.h"

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

struct Float8Config {
  std::string recipe = "tensorwise";
  /// Cast weights on the owning shard and gather fp8 bytes; false gathers bf16 and casts the gathered weight.
  bool all_gather = true;
  /// Linears (substring of the parameter's name) that stay in bf16; required for dimensions that fp8 cannot do.
  std::vector<std::string> bf16_linears;
};

}  // namespace octet
