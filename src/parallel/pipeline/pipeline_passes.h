#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/named_enum.h"
#include "src/parallel/parallel_config.h"

namespace octet {

/// Work of one micro-batch in one stage. `backward` is input_gradient and weight_gradient at once.
enum class PassKind : std::uint8_t { forward, backward, input_gradient, weight_gradient };
constexpr auto names_of(PassKind) {
  return std::to_array<std::string_view>({"F", "B", "I", "W"});
}

struct PipelinePass {
  PassKind kind = PassKind::forward;
  int micro_batch = 0;
  int chunk = 0;  ///< which of the rank's stages

  bool operator==(const PipelinePass&) const = default;
};

/// "F 3" or, where ranks have several stages, "F 3.1" for chunk 1.
std::string text_of(const PipelinePass& pass, int chunks);

/// A pipeline in numbers. The stages go round the ranks: stage s is chunk s / ranks of rank s % ranks.
struct PipelineShape {
  PipelineOrder order = PipelineOrder::one_f_one_b;
  int ranks = 1;
  int chunks = 1;  ///< stages a rank
  int micro_batches = 1;

  int stages() const { return ranks * chunks; }
  int stage(int rank, int chunk) const { return chunk * ranks + rank; }
  int rank_of(int stage) const { return stage % ranks; }
  int chunk_of(int stage) const { return stage / ranks; }
  bool splits_backward() const { return order == PipelineOrder::zb_h1; }
  bool operator==(const PipelineShape&) const = default;
};

inline PipelineShape pipeline_shape(const ParallelConfig& p, int micro_batches) {
  return {p.pp_schedule, static_cast<int>(p.pp), static_cast<int>(p.pp_chunks), micro_batches};
}

/// Why there is no such pipeline: the option, its value, and what is wrong with it and to be changed.
struct PipelineObstacle {
  std::string key, value, why;

  std::string text() const { return key + " = " + value + ": " + why; }
};
/// Nothing where there is such a pipeline.
std::optional<PipelineObstacle> obstacle_to(const PipelineShape& shape);

/// Interleaved: micro-batches go through a rank's chunks in groups of this many, at least as many as there are ranks,
/// so that the first of a group is back from the last rank when the rank begins the next chunk. The last group may be
/// smaller, but has as many too. The smallest such number takes the least memory.
int group_size(const PipelineShape& shape);

/// The passes of each rank in their order: [rank][i].
using PipelinePasses = std::vector<std::vector<PipelinePass>>;

/// A pure function of the shape, so that every rank knows what all do. Throws a usage error for obstacle_to(shape).
PipelinePasses make_passes(const PipelineShape& shape);
/// Forward passes alone, of any number of micro-batches.
PipelinePasses make_forward_passes(const PipelineShape& shape);

}  // namespace octet
