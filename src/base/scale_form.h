#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "src/base/named_enum.h"

namespace octet {

/// Which values of an fp8 matrix share a scale. A GEMM keeps one of a matrix's two dimensions and contracts the other.
/// A matrix with several scales is cast for one of the two dimensions, and only GEMMs that contract this one can read
/// it. kernels/scale_layout.h says where each scale lies.
enum class ScaleForm : std::uint8_t {
  tensor,   ///< all values
  each,     ///< all values with the same index in the kept dimension
  vectors,  ///< 128 neighbours along the contracted dimension, at one index of the kept one: 1 x 128
  blocks    ///< 128 x 128
};

constexpr auto names_of(ScaleForm) {
  return std::to_array<std::string_view>({"tensor", "each", "vectors", "blocks"});
}

/// Says whether scales change along the contracted dimension too, so that a GEMM cannot apply them to its sums.
constexpr bool along_contraction(ScaleForm form) {
  return form == ScaleForm::vectors || form == ScaleForm::blocks;
}

}  // namespace octet
