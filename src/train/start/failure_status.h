#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "src/comm/communicator.h"
#include "src/comm/failure.h"
#include "src/metrics/status.h"
#include "src/train/start/run_directory.h"

namespace octet {

/// As long as this object lives, a failure of this rank, whichever rank it is, is reported in the run directory: in
/// failure.txt, which only the first rank to fail writes, and by that rank in status.json too. Since the watchdog's
/// thread may do it, status.json is made from the one that is there, of which rank 0 has written all but how the run
/// ended. Before begin() a usage error is not reported there: the directory then describes an earlier start, which has
/// nothing to do with what this one was mistakenly asked to do. Nor is anything reported once rank 0 has written how
/// the run ended, or where an earlier start has written that all its steps are done: what was done stays done, whatever
/// happens afterwards (the view of the last checkpoint, a start that has nothing to do).
class FailureStatus {
 public:
  /// Collective over `control`: rank 0 has removed the failure.txt of an earlier start when this returns. `steps`:
  /// train.steps, for the status.
  FailureStatus(const RunDirectory& directory, Communicator& control, std::int64_t steps);

  /// To be called when rank 0 has written that the run goes: the directory is of this start from now on. Collective
  /// over `control`, so that no rank takes for this run's end what an earlier start left there.
  void begin(Communicator& control);
  /// To be called when rank 0 has written down how the run ended. Collective over `control`: the others know it by
  /// that, and until then from what stands there.
  void end(Communicator& control);
  /// The last step whose result was read, for whoever counts them.
  std::atomic<std::int64_t>& done() { return done_; }

 private:
  bool has_ended() const;
  bool stays(const RunStatus& status) const;
  bool may_write(ExitCode code) const;
  void write(ExitCode code, const std::string& message) const;

  std::string status_;  ///< the file
  OwnerMark owner_;
  std::int64_t steps_;
  std::atomic<std::int64_t> done_ = 0;
  std::atomic<bool> begun_ = false;
  std::atomic<bool> ended_ = false;
  FailureFile file_;
};

}  // namespace octet
