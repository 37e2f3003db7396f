#pragma once

#include <cstdint>
#include <vector>

#include "src/comm/communicator.h"
#include "src/data/batches.h"

namespace octet {

/// What each step of a run computes (Batches::step_work). A step's loss is divided by its targets, so that every rank
/// knows the whole sum before it launches the step. Where steps differ, the ranks share that work: of several steps at
/// once, so that they exchange sums in one of these steps alone, each rank sums its share of the samples.
class StepWorks {
 public:
  /// `hosts`: all ranks (src/comm/host_exchange.h). Both outlive it.
  StepWorks(const Batches& batches, Communicator& hosts) : batches_(batches), hosts_(hosts) {}

  /// Of global batch `step`; the same on every rank. Where steps differ, collective over the hosts: every rank asks for
  /// the same steps, in the same order.
  const StepWork& of(std::int64_t step);
  /// Forgets what it knows: the batches are others from here on.
  void clear() { known_.clear(); }

 private:
  void sum_together(std::int64_t first);

  const Batches& batches_;
  Communicator& hosts_;
  std::int64_t first_ = 0;       ///< step of the first that is known
  std::vector<StepWork> known_;  ///< one step behind the other
};

}  // namespace octet
