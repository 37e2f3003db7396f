#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "src/model/parameters.h"

namespace octet {

/// What an extent of a GEMM counts.
enum class GemmExtent : std::uint8_t { tokens, part_of_tokens, inputs, outputs };

/// One fp8 GEMM of a block on a rank, C[m, n] summed over k, by the names of GemmTrace.
struct Float8Gemm {
  struct Extent {
    GemmExtent of;
    std::int64_t value;
  };
  BlockLinear linear;
  std::string_view gemm;  ///< "output", "grad_input" or "grad_weight"
  Extent m, n, k;
  std::int64_t multiple;  ///< number of which all three are to be multiples
  std::array<Extent, 3> extents() const { return {m, n, k}; }
};

/// The fp8 GEMMs of a block whose linears have these recipes: of each linear the three (without that of the weight's
/// gradient where the recipe has it in bf16), with the shapes that this rank computes. `part`: the rank's part of the
/// model; `tokens`: of a micro-batch, all of them; `parts`: into how many the tokens are cut where GEMMs are done part
/// by part (parallel.async_tp), else 1.
std::vector<Float8Gemm> float8_gemms(const ModelConfig& part, const BlockRecipes& recipes, std::int64_t tokens,
                                     std::int64_t parts);

}  // namespace octet
