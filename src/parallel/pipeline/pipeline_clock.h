#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/parallel/pipeline/pipeline_passes.h"

namespace octet {

/// What the passes of a stage take, in any unit of time. A whole backward takes both gradients' time.
struct StageTimes {
  double forward = 1;
  double input_gradient = 1;
  double weight_gradient = 1;

  double of(PassKind kind) const;
};

struct PassSpan {
  double begin = 0;
  double end = 0;
};

/// When each pass runs if nothing but the passes and their inputs takes time.
struct PipelineTimes {
  std::vector<std::vector<PassSpan>> spans;  ///< as in PipelinePasses
  double end = 0;                            ///< of the last pass

  /// Share of the time up to `end` in which the rank waits.
  double waiting_share(int rank) const;
  /// The share in which all ranks together wait: the bubble.
  double bubble_share() const;
};

/// Runs the passes of all ranks: one begins when the rank's pass before has ended and its input is there, `transfer`
/// after the neighbouring stage has made it. `stages`: times by stage; one alone holds for all. `stuck`: is told which
/// pass of which rank waits for what will never come, where the order allows no end; null where that is a bug.
PipelineTimes run_clock(const PipelineShape& shape, const PipelinePasses& passes,
                        const std::vector<StageTimes>& stages = {StageTimes{}}, double transfer = 0,
                        std::string* stuck = nullptr);

/// The pass that makes the input of this one, in another stage, and the rank that does it; nothing where the input is
/// the batch, the loss or the stage's own.
struct Producer {
  int rank = 0;
  PipelinePass pass{};
};
std::optional<Producer> producer_of(const PipelineShape& shape, int rank, const PipelinePass& pass);

}  // namespace octet
