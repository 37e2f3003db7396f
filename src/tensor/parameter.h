#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
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
  /// Its number among all parameters of the model, whichever of them a list holds. Random numbers, counters, hashes and
  /// scales go by it, and checkpoints by the name, which is one with it.
  std::size_t id = 0;
  std::int64_t cast = -1;  ///< its number among the model's fp8 weights (CastKind::weight); -1: it is none
  /// One GEMM writes the whole gradient of a micro-batch and nothing is added to it, so that it may be written in bf16.
  bool one_gemm_gradient = false;
};

/// The parameters that a rank has a part in, those of a unit side by side and the units in forward order: all of the
/// model, or those of some units. A list belongs to one rank of a tensor-parallel group.
struct ParameterList {
  std::vector<ParameterSpec> parameters;
  std::vector<std::string> units;  ///< of the whole model: "embedding", "block.0", ..., "head"
  std::size_t ids = 0;             ///< parameters of the whole model
  std::int64_t casts = 0;          ///< fp8 weights of the whole model

  /// The next parameter of the model.
  void add(ParameterSpec p) {
    p.id = ids++;
    p.cast = is_float8(p.gathered) ? casts++ : -1;
    parameters.push_back(std::move(p));
  }

  /// The part of it that these units are; everything keeps its numbers.
  template <typename HasUnit>
  ParameterList part(HasUnit&& has_unit) const {
    ParameterList held{.parameters = {}, .units = units, .ids = ids, .casts = casts};
    for (const ParameterSpec& p : parameters) {
      if (has_unit(p.unit)) held.parameters.push_back(p);
    }
    return held;
  }

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
