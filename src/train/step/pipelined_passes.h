#pragma once

#include <functional>
#include <vector>

#include "src/parallel/pipeline/stage_links.h"
#include "src/train/step/pipeline_plan.h"
#include "src/train/step/sharded_model.h"

namespace octet {

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
  void train_passes(const Data& data);
  /// Forward alone.
  void validation_passes(const Data& data);

 private:
  class PolledWeights;

  void run(const std::vector<PipelineStep>& steps, const Data& data, PassMode mode);
  void run_pass(const PipelineStep& step, const Data& data, PassMode mode, PolledWeights& weights);
  void announce(const std::vector<PipelineStep>& steps);

  const PipelinePlan& plan_;
  ShardedModel& model_;
  StageLinks links_;
};

}  // namespace octet
