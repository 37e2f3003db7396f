#pragma once

#include <functional>
#include <vector>

#include "src/parallel/pipeline/pipeline_clock.h"
#include "src/parallel/pipeline/stage_links.h"
#include "src/train/options/run_config.h"
#include "src/train/step/sharded_model.h"

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

/// The passes of a step's micro-batches through this rank's stages: does what the plan's steps say, with the model, its
/// weights and its gradients, and brings residual stream and its gradient from stage to stage. Main thread; all ranks
/// of the pipeline together.
class PipelinedPasses {
 public:
  /// Collective over the pipeline. `model` was made with the plan's stages and slots.
  PipelinedPasses(const PipelinePlan& plan, ShardedModel& model, const LlamaSettings& settings, Mesh& mesh,
                  Stream& stream);

  /// The data of a micro-batch on the device, which stay there as long as the slot is taken. Asked for once, before its
  /// forward pass, of each micro-batch and stage.
  using Data = std::function<MicroBatch(int micro_batch, int chunk, int slot)>;

  /// Forward and backward of all micro-batches.
  void train(const Data& data);
  /// Forward alone.
  void evaluate(const Data& data);

 private:
  class PolledWeights;

  void run(const std::vector<PipelineStep>& steps, const Data& data, bool trains);
  void run_pass(const PipelineStep& step, const Data& data, bool trains, PolledWeights& weights);
  void announce(const std::vector<PipelineStep>& steps);

  const PipelinePlan& plan_;
  ShardedModel& model_;
  StageLinks links_;
};

}  // namespace octet
