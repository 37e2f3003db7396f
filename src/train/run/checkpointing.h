#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "checkpoints/save/checkpoint_config.h"
#include "checkpoints/save/saver.h"
#include "src/train/run/run_log.h"
#include "src/train/run/save_times.h"
#include "src/train/start/resume.h"
#include "src/train/step/trainer.h"

namespace octet {

/// A run's checkpoints as its loop sees them: when one is due, what goes into it, what the log says. With
/// checkpoint.interval off it does nothing. Main thread. What polls, saves or waits is collective, and in the phase
/// `checkpoint` of the watchdog; the questions on(), due(), expected_seconds() and newest() are local. A save that
/// failed on any rank is logged and tried again at the next interval. Once the last committed checkpoint is as old as
/// checkpoint.max_age, all ranks throw when a save that begins then fails.
class Checkpointing {
 public:
  Checkpointing(const RunConfig& config, const RankContext& context, Trainer& trainer, RunLog& log,
                const StartingPoint& from);

  bool on() const { return saver_ != nullptr; }
  /// Says whether a checkpoint should follow step `step`. Minutes are counted by rank 0 alone: the ranks agree in the
  /// step (Requests).
  bool due(std::int64_t step) const;
  /// What one takes until it is committed, by the last one; 0 before the first.
  double expected_seconds() const { return cost_.stall_seconds + cost_.write_seconds; }
  /// Directory of the newest committed one, also from before this start; empty for none.
  const std::string& newest() const { return newest_; }

  /// Commits, at every step boundary, what has been written.
  void poll();
  /// Begins to save the state after step `step`; training goes on while it is written.
  void start(std::int64_t step, double loss);
  /// Saves the state after the run's last step, and returns when that is committed. Throws when that fails twice.
  void finish(std::int64_t step, double loss);
  /// Waits for the view of the last one; to be called when it is written down how the run ended.
  void wait_for_view() const;
  /// Commits what was begun before, for a run that ends in a state not worth keeping. A write that fails is logged.
  void finish_pending();

 private:
  using Call = std::function<std::optional<checkpoint::SaveReport>()>;
  /// Returns how the call failed, the same on all ranks. What only this rank can know, that a peer is lost, is thrown.
  std::optional<Error> attempt(const Call& call);
  /// The failure of a save is logged while there is time to try again, and thrown when not.
  void failed(const Error& error);
  /// The save that is under way ends, well or not, before another begins.
  std::optional<Error> end_former(std::int64_t step);
  std::optional<Error> begin(std::int64_t step, double loss, bool last);
  checkpoint::Interval oldest() const { return checkpoint::oldest_allowed(max_age_, interval_, cost_); }
  void committed(const checkpoint::SaveReport& report);
  /// Says whether this rank knows how much of the interval has passed: minutes are rank 0's.
  bool may_judge(const checkpoint::Interval& interval) const;

  const RunConfig& config_;
  const RankContext& context_;
  RunLog& log_;
  bool rank0_;
  checkpoint::Interval interval_;
  checkpoint::Interval max_age_;
  checkpoint::RunState state_;  ///< what does not change; step and loss are filled in
  std::vector<checkpoint::DevicePiece> pieces_;
  std::unique_ptr<checkpoint::Saver> saver_;  ///< none with interval off
  std::int64_t first_step_;
  std::int64_t last_saved_;  ///< begun, or resumed from; -1: none
  std::chrono::steady_clock::time_point saved_at_ = std::chrono::steady_clock::now();
  checkpoint::MeasuredCost cost_;
  SaveTimes times_;
  bool failing_ = false;  ///< the last save that ended did so with an error
  std::string newest_;
};

}  // namespace octet
