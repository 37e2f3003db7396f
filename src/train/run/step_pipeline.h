#pragma once

#include <functional>
#include <vector>

#include "src/train/run/stop_request.h"
#include "src/train/step/trainer.h"

namespace octet {

/// What a rank brings to the agreement of the ranks at the end of a step; the largest of each counts.
struct Wishes {
  StopReason stop = StopReason::none;
  bool checkpoint = false;
};

/// Steps, launched one after the other, and their results: at once, or late, when the next step has been launched, so
/// that the device never waits for the host between two steps. Main thread; collective.
class StepPipeline {
 public:
  /// `late`: results may come one step late.
  StepPipeline(Trainer& trainer, Communicator& control, bool late)
      : trainer_(trainer), control_(control), late_(late) {}

  /// The same on every rank, but for seconds.
  struct Progress {
    std::vector<StepResult> results;  ///< in order; the last is of the step launched now when that is `settled`
    Wishes wishes;                    ///< of all ranks, for after the step launched now
    bool settled = false;             ///< no step is under way
  };

  /// Launches `step`. `settle`: its result is needed now; so it is where the ranks wish anything. `wishes` is asked
  /// when the step has been launched (and, unless late, done).
  Progress advance(std::int64_t step, const std::function<Wishes()>& wishes, bool settle);

 private:
  /// Agrees on what was not finite in the results from `first` on, and on `wishes`; tells the warnings that ranks
  /// share.
  void agree(std::vector<StepResult>& results, std::size_t first, Wishes& wishes);

  Trainer& trainer_;
  Communicator& control_;
  bool late_;
};

/// Says whether results are read one step late: train.late_results, by default where the device works beside the host.
bool reads_late(const RunConfig& config);

}  // namespace octet
