#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "checkpoints/interval.h"
#include "checkpoints/saver.h"
#include "src/train/resume.h"
#include "src/train/run_log.h"

namespace octet {

/// A run's checkpoints as its loop sees them: when one is due, what goes into it, what the log says. With
/// checkpoint.interval off it does nothing. Main thread; all but due(), expected_seconds() and newest() collective, and
/// in the phase `checkpoint` of the watchdog. After a write that failed on any rank, which is logged, one is due again
/// at the next boundary; when that fails too, all ranks throw.
class Checkpointing {
 public:
  Checkpointing(const RunConfig& config, const RunEnvironment& environment, Trainer& trainer, RunLog& log,
                const StartingPoint& from);

  bool on() const { return saver_ != nullptr; }
  /// Whether one should follow step `step`. Minutes are counted by rank 0 alone: the ranks agree in the step (Wishes).
  bool due(std::int64_t step) const;
  /// What one takes until it is committed, by the last one; 0 before the first.
  double expected_seconds() const { return cost_.stall_seconds + cost_.write_seconds; }
  /// Directory of the newest committed one, also from before this start; empty for none.
  const std::string& newest() const { return newest_; }

  /// At every step boundary: commits what has been written.
  void poll();
  /// Begins to save the state after step `step`; training goes on while it is written.
  void start(std::int64_t step, double loss);
  /// Saves the state after the run's last step, and returns when that is committed.
  void finish(std::int64_t step, double loss);
  /// For a run that ends in a state not worth keeping: commits what was begun before. A write that fails is logged.
  void settle();

 private:
  /// A call whose failures are the same on all ranks.
  void attempt(const std::function<std::optional<checkpoint::SaveReport>()>& call);
  void committed(const checkpoint::SaveReport& report);
  bool is_timed() const;

  const RunConfig& config_;
  const RunEnvironment& environment_;
  RunLog& log_;
  bool rank0_;
  checkpoint::Interval interval_;
  checkpoint::RunState state_;  ///< what does not change; step and loss are filled in
  std::vector<checkpoint::DevicePiece> pieces_;
  std::unique_ptr<checkpoint::Saver> saver_;  ///< none with interval off
  std::int64_t first_step_;
  std::int64_t last_saved_;  ///< begun, or resumed from; -1: none
  std::chrono::steady_clock::time_point saved_at_ = std::chrono::steady_clock::now();
  checkpoint::MeasuredCost cost_;
  int failures_ = 0;              ///< since the last commit
  std::int64_t failed_step_ = 0;  ///< of the last of them
  std::string newest_;
};

}  // namespace octet
