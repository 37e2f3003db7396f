#pragma once

#include <cmath>
#include <functional>
#include <vector>

#include "src/data/sampler.h"
#include "src/train/batch_upload.h"
#include "src/train/config.h"
#include "src/train/sharded_model.h"
#include "src/train/stop_request.h"

namespace octet {

/// What a rank brings to the agreement of the ranks at the end of a step; the largest of each counts.
struct Wishes {
  StopReason stop = StopReason::none;
  bool checkpoint = false;
};

/// What a step tells the loop; the same on every rank, but for the seconds.
struct StepResult {
  double loss = 0;       ///< nats a token, over the global batch
  double grad_norm = 0;  ///< before clipping
  double lr = 0;
  double data_seconds = 0;                        ///< of this rank
  std::vector<TensorChecks::Finding> non_finite;  ///< over all ranks
  bool skipped = false;  ///< the norm was not finite: no weight was changed, nor will later steps change one
  Wishes wishes;         ///< of all ranks

  /// Nothing in the step was NaN or infinite: the state after it is worth keeping.
  bool is_finite() const { return !skipped && non_finite.empty() && std::isfinite(loss); }
};

/// A run's data and sharded model, one rank's part: training steps and validation passes.
class Trainer {
 public:
  /// Collective. Initial weights from run.seed.
  Trainer(const RunConfig& config, Mesh& mesh, Stream& stream, GemmTrace* gemms);

  /// Step `step` counts from 1. Collective. `wishes` is asked at the step's end, when the ranks agree.
  StepResult train_step(std::int64_t step, const std::function<Wishes()>& wishes);
  /// Mean loss over the first train.validation_batches batches of the validation split. Collective. What was not finite
  /// in it is logged here, by unit and tensor.
  double validate();
  bool has_validation() const { return validation_batches_ > 0; }

  const Sampler& sampler() const { return sampler_; }
  ShardedModel& model() { return model_; }

 private:
  /// `fill` reads the batch that is then brought to the device.
  BatchUpload::OnDevice upload(const std::function<void()>& fill);
  /// Sums the loss over ranks and agrees on what stops a run.
  void agree(StepResult& result, const Wishes& mine);

  const RunConfig& config_;
  Mesh& mesh_;
  Stream& stream_;
  Device& device_;
  BatchLayout batch_layout_;
  Sampler sampler_;
  std::int64_t validation_batches_ = 0;
  ShardedModel model_;
  Batch batch_;
  BatchUpload upload_;
  TensorBuffer loss_sum_;  ///< [1]
  TensorBuffer flags_;     ///< [3]: something was not finite, reason to stop, wish for a checkpoint
};

/// parallel.reshard_after_forward `auto` frees gathered weights when there is more than one shard.
FsdpOptions fsdp_options(const RunConfig& config, int shards);

/// `tp_rank`: this rank's place in its tensor-parallel group.
LlamaSettings llama_settings(const RunConfig& config, int tp_rank);

}  // namespace octet
