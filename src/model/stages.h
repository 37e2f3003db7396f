#pragma once

#include <cstdint>
#include <vector>

#include "src/model/llama_settings.h"

namespace octet {

/// The units that a pass goes through at once: those of a pipeline stage, or all.
struct Stage {
  UnitRange units;
  std::int64_t first_layer, end_layer;
  RecomputePolicy recompute;
  bool has_head;

  bool has_embedding() const { return units.has(embedding_unit); }
  std::int64_t layers() const { return end_layer - first_layer; }
};
/// The stages of LlamaSettings::stages. Internal error for one without a block.
std::vector<Stage> stages_of(const LlamaSettings& settings);

/// FLOPs of a token's forward and backward pass by unit, full attention. The embedding multiplies nothing.
std::vector<double> unit_flops(const ModelConfig& model, std::int64_t seq_len);

/// The whole model's units as `count` stages of at least one block each, the embedding with the first block and the
/// head with the last. Of all ways the one whose most expensive stage (unit_flops) costs least, and of these the most
/// even one (the least sum of squares). Usage error for more stages than blocks.
std::vector<UnitRange> even_stages(const ModelConfig& model, std::int64_t seq_len, int count);

/// Stages of so many blocks each. Usage error when their sum is not the model's.
std::vector<UnitRange> stages_of_blocks(const ModelConfig& model, const std::vector<std::int64_t>& blocks);

}  // namespace octet
