#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "src/base/named_enum.h"

namespace octet {

/// Which values of an fp8 matrix share a scale. A GEMM keeps one of a matrix's two dimensions and contracts the other,
/// and a matrix whose scales are not one for all belongs to GEMMs that contract the one dimension for which it was
/// cast. kernels/scale_layout.h says where which scale lies.
enum class ScaleForm : std::uint8_t {
  tensor,   ///< all values
  each,     ///< those of an index of the kept dimension
  vectors,  ///< those of an index of the kept dimension, 128 along the contracted one: 1 x 128
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
