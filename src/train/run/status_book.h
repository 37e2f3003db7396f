#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "checkpoints/save/saver.h"
#include "src/metrics/status.h"
#include "src/train/start/resume.h"
#include "src/train/start/run_directory.h"

namespace octet {

/// status.json of a run's directory, kept by the rank that writes it. What it writes throws internal_error when the
/// disk refuses.
class StatusBook {
 public:
  /// Touches no file. `steps`: train.steps.
  StatusBook(RunDirectory directory, std::int64_t steps) : directory_(std::move(directory)), steps_(steps) {}

  /// Says that the run goes, after the step that it goes on from. Where the file says that all steps are done, and none
  /// is left, it stays as it is.
  void begin(const StartingPoint& from);
  /// Says whether an earlier start has done all steps, so that begin() left the file as it was.
  bool was_finished() const { return was_finished_; }

  /// Counts this start, where the run has been started before; false where it has not.
  bool count_restart();
  /// How often the run was started again, as far as it was counted.
  std::int64_t restarts() const { return restarts_; }
  /// Writes what was counted, unless another rank has failed meanwhile and said so.
  void tell_restart();

  /// The checkpoint is named from now on. Where the file cannot be written, this is logged, and the next one is named.
  void committed(const checkpoint::SaveReport& report);
  /// Says how it ended, or that it goes (begin).
  void write(const std::string& state, const std::string& reason, int exit_code, std::int64_t step) const;

 private:
  RunDirectory directory_;
  std::int64_t steps_;
  std::int64_t from_ = 0;  ///< the step that this start goes on from
  std::int64_t restarts_ = 0;
  bool is_restart_ = false;
  bool was_finished_ = false;
  std::string checkpoint_{};       ///< newest committed
  double checkpoint_seconds_ = 0;  ///< that one took, or one of an earlier start
};

}  // namespace octet
