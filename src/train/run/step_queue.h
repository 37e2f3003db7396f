#pragma once

#include <functional>
#include <span>
#include <vector>

#include "src/train/run/stop_request.h"
#include "src/train/step/trainer.h"

namespace octet {

/// What a rank asks for at the end of a step. The ranks agree on the largest of each.
struct Requests {
  StopReason stop = StopReason::none;
  bool checkpoint = false;

  bool any() const { return stop != StopReason::none || checkpoint; }
};

/// Steps, launched one after the other, and their results: at once, or late, when the next step has been launched, so
/// that the device never waits for the host between two steps. Main thread; collective.
class StepQueue {
 public:
  /// `late`: results may come one step late.
  StepQueue(Trainer& trainer, Communicator& control, bool late) : trainer_(trainer), control_(control), late_(late) {}

  /// The same on every rank, but for seconds.
  struct Progress {
    std::vector<StepResult> results;  ///< in order; the last is of the step launched now when that is `drained`
    Requests requests;                ///< of all ranks, for after the step launched now
    bool drained = false;             ///< no step is under way
  };

  /// Launches `step`. `drain`: its result is needed now, which also holds where the ranks request anything. `requests`
  /// is asked when the step has been launched (and, unless late, done).
  Progress advance(std::int64_t step, const std::function<Requests()>& requests, bool drain);

 private:
  /// Names what was not finite in `results` on any rank, tells the warnings that ranks share, and returns what the
  /// ranks request.
  Requests agree(std::span<StepResult> results, const Requests& own);

  Trainer& trainer_;
  Communicator& control_;
  bool late_;
};

/// Says whether results are read one step late: train.late_results, by default where the device works beside the host.
bool reads_late(const RunConfig& config);

}  // namespace octet
