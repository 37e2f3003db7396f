#pragma once

#include <string>
#include <vector>

#include "src/model/parameters.h"

namespace octet {

/// Blocks with the same recipes, by their first block.
struct EqualBlocks {
  BlockRecipes recipes;
  std::vector<std::int64_t> layers{};  ///< ascending
  std::string text() const;            ///< "blocks 0 to 3, 7"
};
std::vector<EqualBlocks> equal_blocks(const ModelConfig& model, Precision precision, const Float8Config& float8);

/// Text table: linear, weight shape, formats of its three GEMMs; one after the other where blocks differ. Printed at
/// start.
std::string gemm_format_table(const ModelConfig& model, Precision precision, const Float8Config& float8);

}  // namespace octet
