#pragma once

#include <memory>
#include <vector>

#include "src/comm/mesh.h"
#include "src/data/sampler.h"
#include "src/model/llama.h"
#include "src/optim/adamw.h"
#include "src/parallel/fsdp_gradients.h"
#include "src/parallel/fsdp_weights.h"
#include "src/parallel/gradient_norm.h"
#include "src/train/config.h"

namespace octet {

/// What a step tells the loop; the same on every rank.
struct StepResult {
  double loss = 0;       ///< nats a token, over the global batch
  double grad_norm = 0;  ///< before clipping
  double lr = 0;
  double data_seconds = 0;                        ///< of this rank
  std::vector<TensorChecks::Finding> non_finite;  ///< over all ranks
  bool skipped = false;  ///< the norm was not finite: no weight was changed, nor will later steps change one
  int stop_signal = 0;   ///< a rank's argument of train_step, the largest
};

/// Model, data, sharded state and optimizer of one run, one rank's part: a training step and a validation pass.
class Trainer {
 public:
  /// Collective. Initial weights from run.seed.
  Trainer(const RunConfig& config, Mesh& mesh, Stream& stream, GemmTrace* gemms);

  /// Step `step` counts from 1. Collective; `stop_signal` is this rank's wish to stop, agreed in the same exchange.
  StepResult train_step(std::int64_t step, int stop_signal);
  /// Mean loss over the first train.validation_batches batches of the validation split. Collective.
  double validate();
  bool has_validation() const { return validation_batches_ > 0; }

  const Sampler& sampler() const { return sampler_; }
  const ParameterList& parameters() const { return model_.parameters(); }
  const ShardedBuffer& master() const { return master_; }

 private:
  Tensor upload(const std::vector<std::int32_t>& host, const TensorBuffer& to);
  void optimize(std::int64_t step, double lr);
  /// One all-reduce of what the host wants to know.
  void agree(StepResult& result, int stop_signal);
  /// Non-finite elements counted since the last reset, on this rank.
  std::vector<TensorChecks::Finding> findings();
  /// The same over all ranks; resets.
  std::vector<TensorChecks::Finding> shared_findings();

  const RunConfig& config_;
  Mesh& mesh_;
  Stream& stream_;
  Device& device_;
  const KernelTable& kernels_;
  BatchLayout batch_layout_;
  Sampler sampler_;
  std::int64_t validation_batches_ = 0;
  NoExchange exchange_;
  Llama model_;
  ShardLayout layout_;
  ShardedBuffer master_, gradients_, first_moment_, second_moment_;
  WeightScales scales_;
  FsdpWeights weights_;
  FsdpGradients sink_;
  GradientNorm norm_;
  std::vector<OptimizerSlice> slices_;
  Batch batch_;
  TensorBuffer tokens_, targets_;
  TensorBuffer loss_sum_;  ///< [1]
  TensorBuffer flags_;     ///< [2]: something was not finite, stop signal
};

/// Whether parallel.reshard_after_forward frees gathered weights: `auto` is yes when there is more than one shard.
bool reshards(const ParallelConfig& config, int shards);

LlamaSettings llama_settings(const RunConfig& config);

}  // namespace octet
