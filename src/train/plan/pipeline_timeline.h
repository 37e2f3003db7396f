#pragma once

#include <string>
#include <vector>

#include "src/parallel/pipeline/pipeline_clock.h"
#include "src/profile/timeline.h"
#include "src/run_config/run_config.h"
#include "src/train/plan/dry_timeline.h"

namespace octet {

/// Where the time of a rank's step goes if it never waits for another stage: seconds of all its forward passes, of all
/// its backward passes (with what is computed again), of those that make weight gradients apart, and of the rest, such
/// as the optimizer.
struct RankSeconds {
  double forward = 0, backward = 0, weight_gradients = 0, rest = 0;
};

/// The seconds of the recording of one dry step. What the model's stream waits for belongs to what it does next.
RankSeconds rank_seconds(const Recording& step);

/// A step of a pipeline whose ranks wait for each other.
struct PipelineEstimate {
  std::vector<RankSeconds> ranks;  ///< by rank in the pipeline
  PipelineTimes times;             ///< of the passes
  double step = 0;                 ///< seconds: the passes, and the longest rest
};

/// Runs a step of one rank of each stage dry at those rates, and puts their passes together by the pipeline's order. A
/// rank's chunks take its time by their FLOPs, every micro-batch the same.
PipelineEstimate estimate_pipeline(const RunConfig& config, const MeshShape& mesh, const MachineRates& rates);

/// A line for each rank, and one for the step.
std::string pipeline_times_text(const PipelineEstimate& estimate);

}  // namespace octet
