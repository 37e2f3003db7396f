#pragma once

#include <string>
#include <vector>

#include "src/tensor/shard.h"

namespace octet {

/// One parameter as the model declares it; sharding, optimizer and checkpoints work from this list alone.
struct ParameterSpec {
  std::string name;  ///< torchtitan's, e.g. "layers.3.attention.wq.weight"
  int unit = 0;
  Shape global;
  TensorCut cut{};               ///< what tensor parallelism leaves to this rank
  Shape shape;                   ///< of that: what FSDP shards and the model computes with
  DType gathered = DType::bf16;  ///< what the model computes with: f32, bf16 or e4m3
  double init_std = 0;           ///< 0: ones
  double init_cutoff = 0;        ///< truncation in standard deviations
};

/// All parameters, those of a unit side by side and the units in forward order. A parameter's index is its id in
/// random numbers and checkpoints. A list belongs to one rank of a tensor-parallel group.
struct ParameterList {
  std::vector<ParameterSpec> parameters;
  std::vector<std::string> units;  ///< "embedding", "block.0", ..., "head"

  /// [first, last) indices of the unit's parameters.
  std::pair<std::size_t, std::size_t> range(int unit) const {
    std::size_t first = 0;
    while (first < parameters.size() && parameters[first].unit < unit) ++first;
    std::size_t last = first;
    while (last < parameters.size() && parameters[last].unit == unit) ++last;
    return {first, last};
  }
};

}  // namespace octet
