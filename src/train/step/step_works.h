#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "src/comm/communicator.h"
#include "src/data/batches.h"

namespace octet {

/// What each step of a run computes (Batches::step_work), and how many targets a validation has. A loss is divided by
/// the number of targets of the whole batch, so every rank has to know that number before it launches a step. Where
/// steps differ, the ranks share that work: each sums its share of the samples, for several steps at once, so that they
/// exchange sums in one of these steps alone.
class StepWorks {
 public:
  /// `control`: src/comm/control_exchange.h. Both outlive it.
  StepWorks(const Batches& batches, Communicator& control) : batches_(batches), control_(control) {}

  /// Of global batch `step`; the same on every rank. Where steps differ, collective over `control`: every rank asks for
  /// the same steps, in the same order.
  const StepWork& of(std::int64_t step);
  /// Targets of the first `batches` validation batches, which are counted once: a run validates on the same ones each
  /// time. The same on every rank; collective as above.
  std::int64_t validation_targets(std::int64_t batches);
  /// Forgets what it knows: the batches are others from here on.
  void clear() {
    known_.clear();
    validation_.reset();
  }

 private:
  /// The number of targets, of `batches` batches.
  struct Validation {
    std::int64_t batches = 0, targets = 0;
  };

  bool ranks_share() const { return !batches_.has_equal_steps() && control_.size() > 1; }
  WorkShare my_share() const { return {.first = control_.rank(), .every = control_.size()}; }
  void sum_together(std::int64_t first);
  std::int64_t count_together(std::int64_t batches) const;

  const Batches& batches_;
  Communicator& control_;
  std::int64_t first_ = 0;       ///< step of the first that is known
  std::vector<StepWork> known_;  ///< one step behind the other
  std::optional<Validation> validation_;
};

}  // namespace octet
