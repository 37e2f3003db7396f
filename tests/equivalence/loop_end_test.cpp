// When a run's loop ends by itself: before its time limit, with room for the step and the save that are still to come,
// and at its last step. The state after a step is kept only where nothing in it was NaN or infinite.
#include <chrono>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <thread>

#include "checkpoints/restore/restore.h"
#include "src/comm/failure.h"
#include "src/metrics/status.h"
#include "src/train/options/option_texts.h"
#include "tests/equivalence/loop_run.h"
#include "tests/equivalence/trainer_test.h"
#include "tests/support/expect_has.h"
#include "tests/support/forwarding_communicator.h"

namespace octet {
namespace {

constexpr std::chrono::milliseconds pause(120);
const double of_a_step = std::chrono::duration<double>(pause).count();

/// Sleeps wherever the ranks agree on requests, which is once a step: a step takes that long at least.
class SlowSteps final : public test::ForwardingCommunicator {
 public:
  explicit SlowSteps(std::unique_ptr<Communicator> inner) : ForwardingCommunicator(std::move(inner)) {}
  void all_reduce(void* data, std::int64_t count, DType dtype, ReduceOp op) override {
    if (count == 4 && dtype == DType::i32 && op == ReduceOp::max) std::this_thread::sleep_for(pause);
    inner().all_reduce(data, count, dtype, op);
  }
};

/// The sum of all losses, in the group of them alone, is too large for a float; no gradient is.
class InfiniteLoss final : public test::ForwardingCommunicator {
 public:
  explicit InfiniteLoss(std::unique_ptr<Communicator> inner, bool of_losses = false)
      : ForwardingCommunicator(std::move(inner)), of_losses_(of_losses) {}
  void all_reduce(void* data, std::int64_t count, DType dtype, ReduceOp op) override {
    inner().all_reduce(data, count, dtype, op);
    if (of_losses_ && dtype == DType::f32) *static_cast<float*>(data) = std::numeric_limits<float>::infinity();
  }
  std::unique_ptr<Communicator> split(int color, int key, std::string name) override {
    const bool of_losses = name == "dp";
    return std::make_unique<InfiniteLoss>(inner().split(color, key, std::move(name)), of_losses);
  }
  std::unique_ptr<Communicator> alias(std::string name) override {
    const bool of_losses = name == "dp";
    return std::make_unique<InfiniteLoss>(inner().alias(std::move(name)), of_losses);
  }

 private:
  bool of_losses_;
};

/// The ranks but 0 lose a peer in the barrier behind rank 0's word of how the run ended.
class LostAtTheEnd final : public test::ForwardingCommunicator {
 public:
  LostAtTheEnd(std::unique_ptr<Communicator> inner, std::string status)
      : ForwardingCommunicator(std::move(inner)), status_(std::move(status)) {}
  void barrier() override {
    inner().barrier();
    const auto now = read_status(status_);
    if (rank() > 0 && now && now->state != "running") throw Error(ExitCode::lost_peer, "[comm] the peer is gone");
  }

 private:
  std::string status_;
};

class LoopEnd : public TrainerTest {
 protected:
  struct Ended {  // NOLINT(bugprone-exception-escape): moving JSON throws nothing
    int code = -1;
    std::int64_t done = 0;
    std::string err;  ///< of this rank
    nlohmann::json status;
    std::vector<std::string> checkpoints;
    bool failure_counts = true;  ///< one of this rank after the end
  };

  LoopEnd() {
    config_.train.steps = 20;
    config_.train.micro_batch = 1;
    config_.checkpoint.interval = "off";
    config_.run_dir = folder_ / "run";
  }

  /// The loop of a run whose time ends `seconds` from its first step on; 0: it has no limit.
  Ended run(double seconds) {
    std::unique_ptr<Communicator> control = make_mpi_communicator(*stream_, "control");
    if (seconds > 0) control = std::make_unique<SlowSteps>(std::move(control));
    const RunDirectory directory{.path = config_.run_dir};
    if (lost_at_the_end_) control = std::make_unique<LostAtTheEnd>(std::move(control), directory.status());
    std::unique_ptr<Communicator> world = make_mpi_communicator(*stream_, "world");
    if (infinite_loss_) world = std::make_unique<InfiniteLoss>(std::move(world));
    Mesh mesh(std::move(world), {.dp_shard = 0});
    LoopRun loop(config_, mesh, *control, *stream_);
    Ended ended;
    testing::internal::CaptureStderr();
    loop.failure.done() = done_before_;
    loop.failure.begin(*control);
    try {
      ended.code = loop.train(WallClock(seconds > 0 ? WallClock::seconds() + seconds : 0));
    } catch (const Error& error) {
      ended.code = static_cast<int>(error.code());
    }
    ended.failure_counts = leave_reason(ExitCode::internal, "what comes afterwards").first;
    ended.done = loop.failure.done();
    ended.err = testing::internal::GetCapturedStderr();
    ended.status = nlohmann::json::parse(std::ifstream(directory.status()));
    ended.checkpoints = checkpoint::list_checkpoints(directory.checkpoints());
    world_->barrier();
    return ended;
  }

  bool infinite_loss_ = false;
  bool lost_at_the_end_ = false;
  std::int64_t done_before_ = 0;  ///< steps of an earlier start
};

// A step that takes longer than it sleeps ends the run earlier, never later: on a busy machine too these hold.

TEST_F(LoopEnd, LeavesTimeForAnotherStep) {
  const Ended ended = run(3.9 * of_a_step);  // asked in step 4 after 3 of them, with 0.9 left
  EXPECT_EQ(ended.status["reason"], "train.max_wall_time");
  EXPECT_LE(ended.done, 4);
}

TEST_F(LoopEnd, LeavesTimeForTwoStepsWhereResultsComeLate) {
  config_.train.late_results = AutoBool::yes;
  const Ended ended = run(5.9 * of_a_step);  // asked in step 5 after 4 of them, with 1.9 left
  EXPECT_EQ(ended.status["reason"], "train.max_wall_time");
  EXPECT_LE(ended.done, 5);
}

/// The first checkpoint is committed after the two steps that look for its writers and for its manifest.
TEST_F(LoopEnd, LeavesTimeForASaveThatTakesAsLongAsTheLast) {
  config_.checkpoint.interval = "2";
  const Ended ended = run(7.9 * of_a_step);
  EXPECT_EQ(ended.code, 75) << ended.err;
  EXPECT_EQ(ended.status["reason"], "train.max_wall_time");
  EXPECT_LE(ended.done, 7) << "a step alone would still fit into 0.9 of one in step 8";
  ASSERT_FALSE(ended.checkpoints.empty());
  EXPECT_EQ(checkpoint::step_of(ended.checkpoints.front()), ended.done);
}

TEST_F(LoopEnd, KeepsNoStateOfAStepThatWasNotFiniteAndSaysSoAtTheLast) {
  config_.train.steps = 3;
  config_.checkpoint.interval = "1";
  config_.data.validation_fraction = 0;  // whose loss would end the run by itself
  infinite_loss_ = true;
  const Ended ended = run(0);
  EXPECT_EQ(ended.code, 0) << ended.status["reason"];
  EXPECT_EQ(ended.status["state"], "finished");
  EXPECT_TRUE(ended.checkpoints.empty());
  EXPECT_EQ(ended.err.find("cannot be saved"), std::string::npos) << "nothing was tried: " << ended.err;
  EXPECT_HAS(ended.err, "the state after step 3 is not saved: something in the step was NaN or infinite");
}

TEST_F(LoopEnd, KeepsTheStateOfALastStepThatWasFinite) {
  config_.train.steps = 1;
  config_.checkpoint.interval = "10";
  const Ended ended = run(0);
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.checkpoints.size(), 1u);
  EXPECT_EQ(ended.err.find("is not saved"), std::string::npos) << ended.err;
}

/// What was done stays done: on no rank does a later failure make a status of its own.
TEST_F(LoopEnd, IsFinalWhenItIsWrittenDown) {
  config_.train.steps = 1;
  for (const char* interval : {"off", "10"}) {
    config_.checkpoint.interval = interval;
    const Ended ended = run(0);
    EXPECT_FALSE(ended.failure_counts);
    EXPECT_EQ(ended.status["state"], "finished");
  }
}

TEST_F(LoopEnd, IsFinalForARankThatLosesAPeerBeforeItHearsOfIt) {
  config_.train.steps = 1;
  lost_at_the_end_ = true;
  const Ended ended = run(0);
  EXPECT_EQ(ended.code, world_->rank() == 0 ? 0 : static_cast<int>(ExitCode::lost_peer));
  EXPECT_FALSE(ended.failure_counts);
  EXPECT_EQ(ended.status["state"], "finished");
}

TEST_F(LoopEnd, OfAStartThatHasNothingToDoIsFinalToo) {
  config_.train.steps = 1;
  done_before_ = 1;
  const Ended ended = run(0);
  EXPECT_FALSE(ended.failure_counts);
  EXPECT_EQ(ended.status["state"], "finished");
}

}  // namespace
}  // namespace octet
