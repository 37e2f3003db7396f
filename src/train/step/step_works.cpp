#include "src/train/step/step_works.h"

#include <cstddef>

#include "src/comm/control_exchange.h"
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
  const std::int64_t steps = ranks_share() ? steps_at_once : 1;
  known_.assign(static_cast<std::size_t>(steps), StepWork{});
  first_ = first;
  if (steps == 1) {
    known_.front() = batches_.step_work(first);
    return;
  }
  Packer packer;
  for (std::int64_t i = 0; i < steps; ++i) {
    const StepWork mine = batches_.step_work(first + i, my_share());
    packer.put(mine.targets, mine.pairs_of_tokens);
  }
  for (const std::string& bytes : gather_bytes(packer.bytes(), control_)) {
    Unpacker unpacker(bytes);
    for (StepWork& sum : known_) {
      StepWork share{.targets = unpacker.take<std::int64_t>()};
      share.pairs_of_tokens = unpacker.take<std::int64_t>();
      sum += share;
    }
    unpacker.expect_end();
  }
}

std::int64_t StepWorks::validation_targets(std::int64_t batches) {
  if (!validation_ || validation_->batches != batches) validation_ = {batches, count_together(batches)};
  return validation_->targets;
}

std::int64_t StepWorks::count_together(std::int64_t batches) const {
  if (!ranks_share()) return batches_.validation_targets(batches);
  Packer packer;
  packer.put(batches_.validation_targets(batches, my_share()));
  std::int64_t targets = 0;
  for (const std::string& bytes : gather_bytes(packer.bytes(), control_)) {
    Unpacker unpacker(bytes);
    targets += unpacker.take<std::int64_t>();
    unpacker.expect_end();
  }
  return targets;
}

}  // namespace octet
