// When a run's loop ends by itself: before its time limit, with room for the step and the save that are still to come,
// and at its last step. The state after a step is kept only where nothing in it was NaN or infinite.
#include <algorithm>
#include <chrono>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <thread>

#include "checkpoints/restore/restore.h"
#include "src/comm/failure.h"
#include "src/metrics/status.h"
#include "src/run_config/options/option_texts.h"
#include "tests/equivalence/trainer_test.h"
#include "tests/support/expect_has.h"
#include "tests/support/forwarding_communicator.h"
#include "tests/train_ranks/loop_run.h"

namespace octet {
namespace {

constexpr std::chrono::milliseconds pause(120);
const double of_a_step = std::chrono::duration<double>(pause).count();

/// When the ranks have agreed on requests, which they do once a step.
struct Agreements {
  double last = 0;          ///< of the clock of WallClock; 0: they have not yet
  double longest_step = 0;  ///< from one to the next
};

/// Sleeps wherever the ranks agree on requests: a step takes that long at least.
class SlowSteps final : public test::ForwardingCommunicator {
 public:
  SlowSteps(std::unique_ptr<Communicator> inner, Agreements& agreements)
      : ForwardingCommunicator(std::move(inner)), agreements_(agreements) {}
  void all_reduce(void* data, std::int64_t count, DType dtype, ReduceOp op) override {
    const bool agrees = count == 4 && dtype == DType::i32 && op == ReduceOp::max;
    if (agrees) std::this_thread::sleep_for(pause);
    inner().all_reduce(data, count, dtype, op);
    if (!agrees) return;
    const double now = WallClock::seconds();
    if (agreements_.last > 0) agreements_.longest_step = std::max(agreements_.longest_step, now - agreements_.last);
    agreements_.last = now;
  }

 private:
  Agreements& agreements_;
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

/// One element of the first tensor that is looked at is infinite, in every step: where ranks ask each other whether
/// any is, and where they add up how many.
class InfiniteTensor final : public test::ForwardingCommunicator {
 public:
  explicit InfiniteTensor(std::unique_ptr<Communicator> inner) : ForwardingCommunicator(std::move(inner)) {}
  void all_reduce(void* data, std::int64_t count, DType dtype, ReduceOp op) override {
    inner().all_reduce(data, count, dtype, op);
    const bool asks = count == 4 && op == ReduceOp::max, counts = count > 4 && op == ReduceOp::sum;
    if (dtype == DType::i32 && (asks || counts)) *static_cast<std::int32_t*>(data) = 1;
  }
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
    double left = 0;             ///< seconds to the first rank's limit when they had last agreed on requests
    double longest_step = 0;     ///< of all ranks
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
    Agreements agreements;
    if (seconds > 0) control = std::make_unique<SlowSteps>(std::move(control), agreements);
    const RunDirectory directory{.path = config_.run_dir};
    if (infinite_tensor_) control = std::make_unique<InfiniteTensor>(std::move(control));
    if (lost_at_the_end_) control = std::make_unique<LostAtTheEnd>(std::move(control), directory.status());
    std::unique_ptr<Communicator> world = make_mpi_communicator(*stream_, "world");
    if (infinite_loss_) world = std::make_unique<InfiniteLoss>(std::move(world));
    Mesh mesh(std::move(world), {.dp_shard = 0});
    LoopRun loop(config_, mesh, *control, *stream_);
    Ended ended;
    testing::internal::CaptureStderr();
    loop.failure.done() = done_before_;
    loop.failure.begin(*control);
    const double limit = WallClock::seconds() + seconds;
    try {
      ended.code = loop.train(WallClock(seconds > 0 ? limit : 0));
    } catch (const Error& error) {
      ended.code = static_cast<int>(error.code());
    }
    ended.failure_counts = leave_reason(ExitCode::internal, "what comes afterwards").first;
    ended.done = loop.failure.done();
    float times[2] = {static_cast<float>(agreements.last - limit), static_cast<float>(agreements.longest_step)};
    world_->all_reduce(times, 2, DType::f32, ReduceOp::max);
    ended.left = -times[0];
    ended.longest_step = times[1];
    ended.err = testing::internal::GetCapturedStderr();
    ended.status = nlohmann::json::parse(std::ifstream(directory.status()));
    ended.checkpoints = checkpoint::list_checkpoints(directory.checkpoints());
    world_->barrier();
    return ended;
  }

  bool infinite_loss_ = false, infinite_tensor_ = false;
  bool lost_at_the_end_ = false;
  std::int64_t done_before_ = 0;  ///< steps of an earlier start
};

// These tests also hold on a busy machine: a step that takes longer than its sleep ends the run earlier, never later.
// Nor does the run end while there is time for its longest step. The longest step that is measured here, from agreement
// to agreement, may lie in two steps of the loop. The time that is left is counted from the last agreement, which
// sleeps.

TEST_F(LoopEnd, LeavesTimeForAnotherStep) {
  const Ended ended = run(3.9 * of_a_step);  // asked in step 4 after 3 of them, with 0.9 left
  EXPECT_EQ(ended.status["reason"], "train.max_wall_time");
  EXPECT_LE(ended.done, 4);
  EXPECT_LE(ended.left, 2 * ended.longest_step - of_a_step) << "after step " << ended.done;
}

TEST_F(LoopEnd, LeavesTimeForTwoStepsWhereResultsComeLate) {
  config_.train.late_results = AutoBool::yes;
  const Ended ended = run(5.9 * of_a_step);  // asked in step 5 after 4 of them, with 1.9 left
  EXPECT_EQ(ended.status["reason"], "train.max_wall_time");
  EXPECT_LE(ended.done, 5);
  EXPECT_LE(ended.left, 4 * ended.longest_step - of_a_step) << "after step " << ended.done;
}

/// The first checkpoint is committed after the two steps that look for its writers and for its manifest.
TEST_F(LoopEnd, LeavesTimeForASaveThatTakesAsLongAsTheLast) {
  config_.checkpoint.interval = "2";
  const Ended ended = run(7.9 * of_a_step);
  EXPECT_EQ(ended.code, 75) << ended.err;
  EXPECT_EQ(ended.status["reason"], "train.max_wall_time");
  EXPECT_LE(ended.done, 7) << "a step alone would still fit into 0.9 of one in step 8";
  EXPECT_LE(ended.left, 7.9 / 2 * of_a_step + ended.longest_step) << "a save takes no longer than the run has";
  ASSERT_FALSE(ended.checkpoints.empty());
  EXPECT_EQ(checkpoint::step_of(ended.checkpoints.front()), ended.done);
}

TEST_F(LoopEnd, KeepsNoStateOfAStepThatWasNotFiniteAndSaysSoAtTheLast) {
  config_.train.steps = 3;
  config_.checkpoint.interval = "1";
  infinite_tensor_ = true;
  const Ended ended = run(0);
  EXPECT_EQ(ended.code, 77);
  EXPECT_EQ(ended.done, 3) << "a tensor alone ends nothing";
  EXPECT_EQ(ended.status["state"], "failed");
  EXPECT_HAS(std::string(ended.status["reason"]), "something in step 3, the last, was not finite");
  EXPECT_TRUE(ended.checkpoints.empty());
  EXPECT_EQ(ended.err.find("cannot be saved"), std::string::npos) << "nothing was tried: " << ended.err;
}

TEST_F(LoopEnd, KeepsNoStateOfAStepThatWasNotFiniteWhereItIsStopped) {
  infinite_tensor_ = true;
  config_.checkpoint.interval = "10";
  const Ended ended = run(3.9 * of_a_step);
  EXPECT_EQ(ended.status["reason"], "train.max_wall_time");
  EXPECT_TRUE(ended.checkpoints.empty());
  EXPECT_HAS(ended.err, "is not saved: something in the step was NaN or infinite");
}

TEST_F(LoopEnd, ComesWithTheFirstLossThatIsNotFinite) {
  config_.train.steps = 3;
  config_.checkpoint.interval = "1";
  infinite_loss_ = true;
  const Ended ended = run(0);
  EXPECT_EQ(ended.code, 77);
  EXPECT_EQ(ended.done, 1);
  EXPECT_EQ(ended.status["state"], "failed");
  EXPECT_HAS(std::string(ended.status["reason"]), "the loss of step 1 is not finite");
  EXPECT_TRUE(ended.checkpoints.empty());
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
