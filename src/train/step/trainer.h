#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "src/data/sampler.h"
#include "src/run_config/run_config.h"
#include "src/train/step/host_transfer.h"
#include "src/train/step/pass_graphs.h"
#include "src/train/step/pipelined_passes.h"
#include "src/train/step/sharded_model.h"
#include "src/train/step/step_clock.h"
#include "src/train/step/step_works.h"
#include "src/train/step/update_overlap.h"

namespace octet {

/// What a step tells; the same on every rank, but for the times and `counts`.
struct StepResult {
  std::int64_t step = 0;
  StepWork work;         ///< over all ranks
  double loss = 0;       ///< nats a target, over the global batch
  double grad_norm = 0;  ///< before clipping
  double lr = 0;
  Spent spent;           ///< up to the step's end, since that of the one before or what was taken of the clock then
  bool skipped = false;  ///< the norm was not finite: no weight was changed, nor will later steps change one
  std::vector<std::uint32_t> counts;              ///< ShardedModel::counters(), of this rank
  std::vector<TensorChecks::Finding> non_finite;  ///< over all ranks, once they have agreed

  /// Says whether this rank counted anything that was not finite.
  bool found_any() const {
    return std::ranges::any_of(counts, [](std::uint32_t n) { return n != 0; });
  }
  /// Says whether nothing in the step was NaN or infinite, so that the state after it is worth keeping.
  bool is_finite() const { return !skipped && non_finite.empty() && std::isfinite(loss); }
};

/// A run's data and sharded model, one rank's part: training steps and validation passes. It has a configuration of its
/// own, which does not change with the caller's.
class Trainer {
 public:
  /// Collective. Makes the initial weights from run.seed. `sampler`: of the configuration's data
  /// (src/train/start/open_data.h); `control`: the CPU side of all ranks (src/comm/control_exchange.h).
  Trainer(const RunConfig& config, std::unique_ptr<Sampler> sampler, Mesh& mesh, Communicator& control, Stream& stream,
          GemmTrace* gemms);
  /// Trains with other batches than those of the configuration's data.
  Trainer(const RunConfig& config, const Batches& batches, Mesh& mesh, Communicator& control, Stream& stream,
          GemmTrace* gemms);

  /// Gives the device all work of step `step`, counted from 1, without waiting for it. Collective, over `control` too
  /// where steps differ in their work. Two at most may be under way.
  void launch(std::int64_t step);
  int under_way() const { return static_cast<int>(launched_.size()); }
  /// The result of the oldest step under way; waits for the device. What was not finite is this rank's `counts` alone.
  StepResult collect();
  /// Says what was not finite on any rank, in the order of `counts`: fills `non_finite`. Collective over `control`.
  void name_non_finite(StepResult& result);

  /// Mean loss over the first train.validation_batches batches of the validation split. Collective, over `control` too.
  /// What was not finite in it is logged here, by unit and tensor.
  double validate();
  /// Divides the run's time among steps and pauses; collect() takes it up to the step's end.
  StepClock& clock() { return clock_; }
  bool has_validation() const { return validation_batches_ > 0; }

  /// The sampler of the configuration's data, where that is used.
  const Sampler& sampler() const { return *sampler_; }
  /// The data and the schedule of a run that goes on: to be called before its first step.
  void go_on_with(const DataHistory& history, const ScheduleConfig& schedule) {
    sampler_->go_on_with(history);
    step_works_.clear();
    config_.schedule = schedule;
  }
  ShardedModel& model() { return model_; }
  const PassGraphs& graphs() const { return graphs_; }
  /// What the stream is given from now on comes after the last update, whose time is the last step's.
  void join_update();

 private:
  Trainer(const RunConfig& config, std::unique_ptr<Sampler> sampler, const Batches* batches, Mesh& mesh,
          Communicator& control, Stream& stream, GemmTrace* gemms);
  /// Reads a micro-batch of this rank and brings it to the slot's place on the device.
  using ReadBatch = std::function<void(std::int64_t micro_batch, Batch&)>;
  MicroBatch upload(const ReadBatch& read, std::int64_t micro_batch, int slot, float loss_scale);
  /// The passes of a batch's micro-batches, which `read` gives.
  void train_passes(const ReadBatch& read, float loss_scale);
  void validation_passes(const ReadBatch& read);
  PipelinedPasses::Data pipeline_data(const ReadBatch& read, float loss_scale);
  float* loss_sum() { return loss_sum_.view().as<float>(); }

  /// What was not finite on any rank. Collective over `control`.
  std::vector<TensorChecks::Finding> agree_on_findings(std::vector<std::uint32_t> counts);

  RunConfig config_;
  Mesh& mesh_;
  Communicator& control_;
  Stream& stream_;
  Device& device_;
  BatchLayout batch_layout_;
  std::unique_ptr<Sampler> sampler_;
  const Batches& batches_;
  StepWorks step_works_;
  std::int64_t validation_batches_ = 0;
  PipelinePlan pipeline_plan_;
  FsdpOptions fsdp_;
  ShardedModel model_;
  std::unique_ptr<PipelinedPasses> pipeline_;  ///< with several stages
  Batch batch_;
  std::vector<std::unique_ptr<BatchUpload>> uploads_;  ///< by slot
  PassGraphs graphs_;
  UpdateOverlap update_overlap_;
  TensorBuffer loss_sum_;  ///< [1]
  ScalarReader reader_;
  StepClock clock_;
  struct Launched {
    StepResult result;  ///< as far as it is known
    std::int64_t end;   ///< the clock's mark
  };
  std::deque<Launched> launched_;
};

}  // namespace octet
