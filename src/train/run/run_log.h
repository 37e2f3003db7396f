#pragma once

#include <optional>
#include <span>

#include "checkpoints/save/saver.h"
#include "src/base/error.h"
#include "src/train/plan/memory_plan.h"
#include "src/train/run/metrics_book.h"
#include "src/train/run/status_book.h"
#include "src/train/run/throughput.h"
#include "src/train/start/rank_context.h"

namespace octet {

/// Everything a run tells its owner: console, metrics.jsonl, event files, status.json. Files are rank 0's alone.
class RunLog {
 public:
  /// Touches no file.
  RunLog(const RunConfig& config, const RankContext& context, RunDirectory directory);

  /// Writes in status.json that the run goes, for which a full disk has room where there is such a file already; to be
  /// called once, before all that follows. Where the file says that all steps are done, and none is left, no file is
  /// touched, neither here nor by what follows. Throws internal_error when the disk refuses, and Error (lost_peer)
  /// where the directory is another run's.
  void begin(const StartingPoint& from = {});
  /// Opens the log; to be called once, before steps are logged, and after what makes room on the disk (Checkpointing).
  /// A run that goes on: metrics of steps after `from` are moved to metrics.discarded.jsonl, since those steps are done
  /// again, and status.json counts a restart. Where no step is left there is no event file. Throws as begin().
  void open();

  /// Throughput's, of which the log says what a token of the validation split stands for. `sampler` must outlive the
  /// log.
  void set_data(const Sampler& sampler, std::span<const double> bytes_per_token);
  /// Throughput's: every step's and every pause's, logged or not. What was added since the line before makes up a
  /// line's times, and all of it those of the end.
  void add_time(const Spent& spent, std::int64_t steps, const StepWork& work = {}) {
    throughput_.add(spent, steps, work);
  }
  /// Warns, once, of a step with nothing to learn from: its loss of 0 is no success. For every step, logged or not.
  void warn_if_no_targets(std::int64_t step, const StepWork& work);
  /// Writes the line of a step whose time has been added.
  void log_step(const StepResult& result, std::optional<double> validation_loss);
  /// Says which passes over the data begin in that step, and how their mixture changes with it. For every step, logged
  /// or not.
  void log_data_changes(std::int64_t step) const;
  /// Names tensors with NaN or infinity.
  void log_non_finite(const StepResult& result);
  /// Logs what the device's memory holds beside what was planned.
  void log_memory(const MemoryPlan& plan);
  /// To be called before a checkpoint. Syncs the log: if a checkpoint stays, the lines of its steps must not be lost.
  void sync();
  /// A checkpoint was committed: status.json names it from now on. Where the file cannot be written, this is logged and
  /// the next checkpoint is named instead: a run that has just saved its state goes on.
  void committed(const checkpoint::SaveReport& report);
  /// A run that failed leaves its reason in failure.txt too. Throws when metrics of finished steps can still not be
  /// written; of a run that failed that is only logged.
  void end(const std::string& state, const std::string& reason, int exit_code, std::int64_t step);
  /// To be called where an error ends the run: tries once more to write the metrics that the disk has refused, and logs
  /// that they are lost where it still does.
  void tell_lost_metrics();

  const RunDirectory& directory() const { return directory_; }

 private:
  /// Moves the lines of steps that are done again, and counts and says so.
  void go_on();

  const RunConfig& config_;
  const RankContext& context_;
  RunDirectory directory_;
  MetricsBook metrics_;
  StatusBook status_;
  bool writes_;
  Throughput throughput_;
  std::int64_t from_ = 0;  ///< the step that this start goes on from
  bool warned_of_targets_ = false;
  const Sampler* sampler_ = nullptr;  ///< since set_data()
};

}  // namespace octet
