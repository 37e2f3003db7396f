#include "src/train/step/step_works.h"

#include <cstddef>

#include "src/comm/host_exchange.h"
#include "src/comm/packing.h"

namespace octet {
namespace {

/// Steps that are summed at once. An exchange costs a wait for the slowest rank's host; the steps behind a run's end
/// that are summed for nothing cost little.
constexpr std::int64_t steps_at_once = 16;

}  // namespace

const StepWork& StepWorks::of(std::int64_t step) {
  const auto known = static_cast<std::int64_t>(known_.size());
  if (step < first_ || step >= first_ + known) sum_together(step);
  return known_[static_cast<std::size_t>(step - first_)];
}

void StepWorks::sum_together(std::int64_t first) {
  const bool equal = batches_.has_equal_steps();
  const std::int64_t steps = equal || hosts_.size() == 1 ? 1 : steps_at_once;
  known_.assign(static_cast<std::size_t>(steps), StepWork{});
  first_ = first;
  if (steps == 1) {
    known_.front() = batches_.step_work(first);
    return;
  }
  Packer packer;
  for (std::int64_t i = 0; i < steps; ++i) {
    const StepWork mine = batches_.step_work(first + i, {.first = hosts_.rank(), .every = hosts_.size()});
    packer.put(mine.targets, mine.pairs_of_tokens);
  }
  for (const std::string& bytes : gather_bytes(packer.bytes(), hosts_)) {
    Unpacker unpacker(bytes);
    for (StepWork& sum : known_) {
      StepWork share{.targets = unpacker.take<std::int64_t>()};
      share.pairs_of_tokens = unpacker.take<std::int64_t>();
      sum += share;
    }
  }
}

}  // namespace octet
