#pragma once

#include <cstdint>
#include <vector>

#include "src/model/parameters.h"

namespace octet {

/// FLOPs of a token's forward and backward pass by unit, full attention. The embedding multiplies nothing.
std::vector<double> unit_flops(const ModelConfig& model, std::int64_t seq_len);

/// The whole model's units as `count` stages of at least one block each, the embedding with the first block and the
/// head with the last. Of all ways the one whose most expensive stage (unit_flops) costs least, and of these the most
/// even one (the least sum of squares). Usage error for more stages than blocks.
std::vector<UnitRange> even_stages(const ModelConfig& model, std::int64_t seq_len, int count);

/// Stages of so many blocks each. Usage error when their sum is not the model's.
std::vector<UnitRange> stages_of_blocks(const ModelConfig& model, const std::vector<std::int64_t>& blocks);

}  // namespace octet
