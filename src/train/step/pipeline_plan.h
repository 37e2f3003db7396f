#pragma once

#include <string>
#include <vector>

#include "src/comm/mesh.h"
#include "src/model/stages.h"
#include "src/parallel/pipeline/pipeline_clock.h"
#include "src/parallel/pipeline/pipeline_steps.h"
#include "src/run_config/run_config.h"

namespace octet {

/// What a rank of a pipeline does of a step: which stages it has, and its passes and messages in their order.
struct PipelinePlan {
  std::vector<UnitRange> stages{};  ///< this rank's, by chunk
  std::vector<PipelineStep> train{}, evaluate{};
  int slots = 1;
  int landings = 0;
};

/// The plan of a rank, for a configuration whose layout is resolved, on a mesh of that shape; without a pipeline it has
/// one slot and nothing else. Internal error where the steps are not proven (pipeline_check.h).
PipelinePlan pipeline_plan(const RunConfig& config, const MeshShape& mesh, int pp_rank);

/// The FLOPs of each stage's passes of a micro-batch: a third forward, a third for each of the two gradients, which
/// blocks that recompute make both with the first. What these compute again is not counted. The head is the last one's.
std::vector<StageTimes> stage_flops(const RunConfig& config);

/// A step's passes by the clock, with each stage's FLOPs as its time and twice that for backward.
struct ClockedPasses {
  PipelineShape shape;
  PipelinePasses passes;
  PipelineTimes times;
};
ClockedPasses clocked_passes(const RunConfig& config, const MeshShape& mesh);

/// What the log says: stages, order, micro-batches and the bubble of equal stages.
std::string pipeline_text(const RunConfig& config, const MeshShape& mesh);

}  // namespace octet
