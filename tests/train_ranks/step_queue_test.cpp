// Steps whose results are read when the next one has been launched, and those that are read at once, are the same
// steps.
#include "src/train/run/step_queue.h"

#include <cmath>
#include <limits>

#include "tests/equivalence/trainer_test.h"
#include "tests/support/sampler_of.h"

namespace octet {
namespace {

class LateResults : public TrainerTest {
 protected:
  LateResults() : mesh_(make_mpi_communicator(*stream_, "world"), {.dp_shard = 0}) {
    config_.train.steps = 6;
    config_.train.micro_batch = 1;
  }
  std::unique_ptr<Trainer> trainer() {
    return std::make_unique<Trainer>(config_, test::sampler_of(config_), mesh_, *world_, *stream_, nullptr);
  }
  static Requests nothing() { return {}; }
  static std::vector<std::int64_t> steps_of(const StepQueue::Progress& progress) {
    std::vector<std::int64_t> steps;
    for (const StepResult& r : progress.results) steps.push_back(r.step);
    return steps;
  }

  Mesh mesh_;
};

using Steps = std::vector<std::int64_t>;

TEST_F(LateResults, ComeInOrderAndAreThoseOfTheSteps) {
  const auto a = trainer(), b = trainer();
  StepQueue at_once(*a, *world_, false), late(*b, *world_, true);
  std::vector<double> losses, late_losses;
  const std::vector<Steps> expected = {{}, {1}, {2, 3}, {}, {4}, {5, 6}};
  for (std::int64_t step = 1; step <= 6; ++step) {
    const bool drain = step == 3 || step == 6;
    const auto one = at_once.advance(step, nothing, drain);
    EXPECT_EQ(steps_of(one), Steps{step});
    EXPECT_TRUE(one.drained);
    losses.push_back(one.results[0].loss);
    const auto other = late.advance(step, nothing, drain);
    EXPECT_EQ(steps_of(other), expected[static_cast<std::size_t>(step - 1)]) << step;
    EXPECT_EQ(other.drained, drain);
    for (const StepResult& r : other.results) late_losses.push_back(r.loss);
  }
  EXPECT_EQ(late_losses, losses);
  EXPECT_NE(losses[0], losses[1]);
}

/// Of one rank, the last: all learn of it at the same step, and have that step's result.
TEST_F(LateResults, AWishOfOneRankSettlesAll) {
  const auto mine = trainer();
  StepQueue late(*mine, *world_, true);
  const bool asks = world_->rank() == world_->size() - 1;
  EXPECT_EQ(steps_of(late.advance(1, nothing, false)), Steps{});
  const auto progress = late.advance(
      2, [&] { return Requests{.stop = asks ? StopReason::terminate : StopReason::none, .checkpoint = asks}; }, false);
  EXPECT_EQ(steps_of(progress), (Steps{1, 2}));
  EXPECT_TRUE(progress.drained);
  EXPECT_EQ(progress.requests.stop, StopReason::terminate);
  EXPECT_TRUE(progress.requests.checkpoint);
}

/// What one rank counts, every rank names; a step that followed changed nothing, and counts for itself.
TEST_F(LateResults, NameWhatWasNotFiniteAnywhere) {
  const auto mine = trainer();
  StepQueue late(*mine, *world_, true);
  ASSERT_TRUE(late.advance(1, nothing, true).results[0].is_finite());
  if (world_->rank() == 0) mine->model().master().data(1)[0] = std::numeric_limits<float>::quiet_NaN();
  mine->model().weights_changed();
  EXPECT_EQ(steps_of(late.advance(2, nothing, false)), Steps{});
  const auto progress = late.advance(3, nothing, true);
  ASSERT_EQ(steps_of(progress), (Steps{2, 3}));
  for (const StepResult& r : progress.results) {
    EXPECT_TRUE(r.skipped);
    ASSERT_FALSE(r.non_finite.empty());
    EXPECT_EQ(r.non_finite[0].unit, progress.results[0].non_finite[0].unit);
    EXPECT_EQ(r.non_finite[0].count, progress.results[0].non_finite[0].count) << "counters begin anew with each step";
  }
}

/// In 32 bits the sums of two ranks and more would be 0, or negative.
TEST_F(LateResults, NameWhatHasNoRoomIn32Bits) {
  const auto mine = trainer();
  StepResult result = train_step(*mine, 1);
  ASSERT_FALSE(result.found_any());
  const auto checks = static_cast<std::size_t>(mine->model().llama().checks().size());
  const bool first = world_->rank() == 0;
  result.counts[0] = 1U << 31;
  result.counts[1] = first ? std::numeric_limits<std::uint32_t>::max() : 0;
  result.counts[checks] = first ? 0x12345678U : 1U;  // a parameter's gradient
  mine->name_non_finite(result);
  ASSERT_EQ(result.non_finite.size(), 3U);
  const std::int64_t ranks = world_->size();
  EXPECT_EQ(result.non_finite[0].count, ranks << 31);
  EXPECT_EQ(result.non_finite[1].count, std::numeric_limits<std::uint32_t>::max());
  EXPECT_EQ(result.non_finite[2].count, 0x12345678 + ranks - 1);
  EXPECT_FALSE(result.is_finite());
}

}  // namespace
}  // namespace octet
