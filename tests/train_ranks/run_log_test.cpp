// What status.json says of checkpoints, and of starts that have nothing to do.
#include "src/train/run/run_log.h"

#include <filesystem>
#include <vector>

#include "src/base/files.h"
#include "src/metrics/status.h"
#include "src/train/start/run_directory.h"
#include "tests/equivalence/trainer_test.h"

namespace octet {
namespace {

class RunLogTest : public TrainerTest {
 protected:
  RunLogTest()
      : mesh_(make_mpi_communicator(*stream_, "world"), {.dp_shard = 0}),
        context_{.mesh = mesh_,
                 .control = *world_,
                 .stream = *stream_,
                 .traces = {},
                 .ranks_on_node = 1,
                 .node = "node",
                 .resolved_yaml = ""},
        directory_{.path = folder_ / "run"} {
    write_run_directory(directory_, "", {}, *world_);
  }

  RunStatus status() const { return read_status(directory_.status()).value(); }

  Mesh mesh_;
  RankContext context_;
  RunDirectory directory_;
};

/// By it a job knows, before the start's own first checkpoint, how early it has to be told to save.
TEST_F(RunLogTest, WhatACheckpointTookIsKnownToTheNextStart) {
  {
    RunLog log(config_, context_, directory_);
    log.begin();
    log.open();
    log.committed(
        {.step = 4, .stall_seconds = 2, .write_seconds = 60, .path = directory_.checkpoints() + "/step-000004"});
    if (world_->rank() == 0) {
      EXPECT_EQ(status().checkpoint_seconds, 62);
      EXPECT_EQ(status().restarts, 0);
    }
  }
  world_->barrier();
  directory_.resumes = true;
  RunLog log(config_, context_, directory_);
  log.begin({.step = 4, .checkpoint = "step-000004"});
  log.open();
  if (world_->rank() != 0) return;
  EXPECT_EQ(status().checkpoint_seconds, 62);
  EXPECT_EQ(status().restarts, 1);
  EXPECT_EQ(status().step, 4);
}

/// Between the two checkpoints are removed, which may take long and may fail.
TEST_F(RunLogTest, AStartSaysThatItGoesBeforeItTouchesTheLogAndCountsAfterwards) {
  directory_.resumes = true;
  for (const bool fails : {false, true}) {
    if (world_->rank() == 0) {
      write_status(directory_.status(), {.state = "stopped", .reason = "", .step = 2, .steps = 8, .restarts = 3});
    }
    world_->barrier();
    RunLog log(config_, context_, directory_);
    log.begin({.step = 2, .checkpoint = directory_.checkpoints() + "/step-000002"});
    if (world_->rank() == 0) {
      EXPECT_EQ(status().state, "running");
      EXPECT_EQ(status().restarts, 3);
      if (fails) write_status(directory_.status(), {.state = "failed", .reason = "rank 1", .restarts = 3});
    }
    log.open();
    if (world_->rank() == 0) {
      EXPECT_EQ(status().state, fails ? "failed" : "running");
      EXPECT_EQ(status().restarts, fails ? 3 : 4);
    }
    world_->barrier();
  }
}

/// A start that has nothing to do, where the last one left that status.
class RunWithNoStepLeft : public RunLogTest {
 protected:
  void start_after(const RunStatus& before) {
    config_.train.steps = 4;
    directory_.resumes = true;
    if (world_->rank() == 0) write_status(directory_.status(), before);
    world_->barrier();
    left_ = text();
    RunLog log(config_, context_, directory_);
    log.begin({.step = 4, .checkpoint = directory_.checkpoints() + "/step-000004"});
    log.open();
    log.sync();
    log.end("finished", "all steps done", 0, 4);
  }
  std::string text() const { return read_text_file(directory_.status()).value_or(""); }
  bool has(const std::string& path) const { return std::filesystem::exists(path); }

  std::string left_;  ///< status.json before the start
};

TEST_F(RunWithNoStepLeft, ThatIsFinishedStaysAsItIs) {
  RunStatus before{.state = "finished", .reason = "all steps done", .step = 4, .steps = 4, .restarts = 2};
  start_after(before);
  if (world_->rank() != 0) return;
  EXPECT_EQ(text(), left_);
  EXPECT_FALSE(has(directory_.metrics()));
  EXPECT_FALSE(has(directory_.tensorboard()));
}

/// It was killed between its last checkpoint and its status, or had more steps to do then.
TEST_F(RunWithNoStepLeft, ThatDoesNotSayItIsFinishedByThisStart) {
  const std::vector<RunStatus> table = {
      {.state = "running", .reason = "", .step = 2, .steps = 4, .restarts = 2},
      {.state = "failed", .reason = "the disk is full", .exit_code = 70, .step = 4, .steps = 4, .restarts = 2},
      {.state = "stopped", .reason = "SIGTERM", .exit_code = 75, .step = 4, .steps = 8, .restarts = 2}};
  for (const RunStatus& before : table) {
    SCOPED_TRACE(before.state);
    start_after(before);
    if (world_->rank() == 0) {
      EXPECT_EQ(status().state, "finished");
      EXPECT_EQ(status().step, 4);
      EXPECT_EQ(status().steps, 4);
      EXPECT_EQ(status().restarts, 3);
      EXPECT_FALSE(has(directory_.tensorboard())) << "it has no step to tell";
    }
    world_->barrier();
  }
}

}  // namespace
}  // namespace octet
