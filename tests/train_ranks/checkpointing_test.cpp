// A run's checkpoints where the disk refuses something beside them.
#include "src/train/run/checkpointing.h"

#include <chrono>
#include <thread>

#include "checkpoints/restore/restore.h"
#include "src/base/hosts.h"
#include "src/train/start/run_directory.h"
#include "tests/equivalence/trainer_test.h"
#include "tests/support/sampler_of.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

class CheckpointingTest : public TrainerTest {
 protected:
  CheckpointingTest()
      : mesh_(make_mpi_communicator(*stream_, "world"), {.dp_shard = 0}),
        context_{.mesh = mesh_,
                 .control = *world_,
                 .stream = *stream_,
                 .traces = {},
                 .ranks_on_node = 1,
                 .node = "node",
                 .resolved_yaml = ""} {
    config_.checkpoint.interval = "100";
    config_.run_dir = folder_ / "run";
    trainer_ = std::make_unique<Trainer>(config_, test::sampler_of(config_), mesh_, *world_, *stream_, nullptr);
    const RunDirectory directory{.path = config_.run_dir};
    write_run_directory(directory, "", config_.model, *world_);
    log_ = std::make_unique<RunLog>(config_, context_, directory);
    checkpoints_ = std::make_unique<Checkpointing>(config_, context_, *trainer_, *log_, StartingPoint{});
    log_->begin();
    log_->open();
  }

  /// A run of its own with that interval and age.
  void make(const char* interval, const char* max_age) {
    checkpoints_.reset();
    config_.checkpoint.interval = interval;
    config_.checkpoint.max_age = max_age;
    checkpoints_ = std::make_unique<Checkpointing>(config_, context_, *trainer_, *log_, StartingPoint{});
  }
  /// Begins a save, and returns when it is committed or has failed.
  void save(std::int64_t step) {
    checkpoints_->start(step, 2.0);
    checkpoints_->finish_pending();
  }
  /// The disk refuses: what a checkpoint needs on rank 0 beside its own files.
  void take_metrics_away() {
    on_rank_0([&] { fs::rename(metrics(), metrics() + ".away"); });
  }
  void bring_metrics_back() {
    on_rank_0([&] { fs::rename(metrics() + ".away", metrics()); });
  }

  void on_rank_0(const std::function<void()>& work) {
    if (world_->rank() == 0) work();
    world_->barrier();
  }
  std::string metrics() const { return config_.run_dir + "/metrics.jsonl"; }
  std::string status() const { return config_.run_dir + "/status.json"; }

  /// The newest first; every rank the same.
  std::vector<std::int64_t> saved() {
    world_->barrier();
    std::vector<std::int64_t> steps;
    for (const std::string& path : checkpoint::list_checkpoints(config_.run_dir + "/checkpoints")) {
      steps.push_back(checkpoint::step_of(path).value());
    }
    world_->barrier();
    return steps;
  }

  /// What `work` logs on this rank.
  static std::string logged(const std::function<void()>& work) {
    testing::internal::CaptureStderr();
    work();
    return testing::internal::GetCapturedStderr();
  }

  Mesh mesh_;
  RankContext context_;
  std::unique_ptr<Trainer> trainer_;
  std::unique_ptr<RunLog> log_;
  std::unique_ptr<Checkpointing> checkpoints_;
};

using Steps = std::vector<std::int64_t>;

/// Rank 0 alone has the file, and all must learn that it failed.
TEST_F(CheckpointingTest, MetricsThatCannotBeSyncedAreAFailedSave) {
  take_metrics_away();
  const std::string said = logged([&] { checkpoints_->start(1, 2.0); });
  EXPECT_EQ(said.find("step 1 cannot be saved: rank 0 on " + host_name() + ": ") != std::string::npos,
            world_->rank() == 0)
      << said;
  EXPECT_EQ(said.find(metrics()) != std::string::npos, world_->rank() == 0) << said;
  EXPECT_EQ(said.find("tried again at every interval, and training goes on until step 200") != std::string::npos,
            world_->rank() == 0)
      << said;
  EXPECT_FALSE(checkpoints_->due(2)) << "not before the next interval";
  EXPECT_TRUE(checkpoints_->due(100));
  EXPECT_EQ(saved(), Steps{});
}

/// Interval 100: the oldest that is allowed is of 200 steps.
TEST_F(CheckpointingTest, SavesThatFailEndARunWhenTheLastCheckpointIsTooOld) {
  logged([&] { save(100); });
  take_metrics_away();
  logged([&] { save(200); });
  EXPECT_FALSE(checkpoints_->due(299));
  EXPECT_TRUE(checkpoints_->due(300));
  try {
    checkpoints_->start(300, 2.0);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::internal);
    const std::string what = error.what();
    EXPECT_NE(what.find("step 300 cannot be saved: rank 0 on "), std::string::npos) << what;
    EXPECT_NE(what.find("the last one stays: " + config_.run_dir + "/checkpoints/step-000100"), std::string::npos);
    EXPECT_NE(what.find("older than checkpoint.max_age allows (200 steps)"), std::string::npos) << what;
  }
  EXPECT_EQ(saved(), Steps{100});
}

/// What counts is when the save began: one that takes long to fail is tried again.
TEST_F(CheckpointingTest, AgeReachedBetweenTwoIntervalsIsTriedOnceMoreAtOnce) {
  make("100", "150 steps");
  logged([&] { save(100); });
  take_metrics_away();
  logged([&] { save(200); });
  EXPECT_FALSE(checkpoints_->due(249));
  EXPECT_TRUE(checkpoints_->due(250));
  logged([&] { EXPECT_THROW(checkpoints_->start(250, 2.0), Error); });
}

TEST_F(CheckpointingTest, AgesInMinutes) {
  make("100000 min", "auto");
  take_metrics_away();
  const std::string said = logged([&] { save(1); });
  EXPECT_EQ(said.find("training goes on for ") != std::string::npos, world_->rank() == 0) << said;
  EXPECT_FALSE(checkpoints_->due(2));

  make("100000 min", "0.0001 min");
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_FALSE(checkpoints_->due(2)) << "nothing has failed yet";
  logged([&] { EXPECT_THROW(checkpoints_->start(2, 2.0), Error) << "by rank 0's clock, on all"; });
}

/// Of several tries one is quick enough on a machine that is busy.
TEST_F(CheckpointingTest, MinutesCountFromTheLastSave) {
  make("0.005 min", "auto");
  bool waits = false;
  for (std::int64_t step = 1; step < 20 && !waits; step += 2) {
    std::this_thread::sleep_for(std::chrono::milliseconds(310));
    EXPECT_EQ(checkpoints_->due(step), world_->rank() == 0) << "whose clock counts";
    logged([&] { checkpoints_->start(step, 2.0); });
    std::int32_t due = checkpoints_->due(step + 1) ? 1 : 0;
    world_->all_reduce(&due, 1, DType::i32, ReduceOp::max);
    waits = due == 0;
  }
  EXPECT_TRUE(waits) << "for the next interval";
}

TEST_F(CheckpointingTest, WithoutAnAgeARunGoesOn) {
  make("100", "off");
  take_metrics_away();
  for (const std::int64_t step : {100, 1000, 10'000}) logged([&] { EXPECT_NO_THROW(save(step)); });
  bring_metrics_back();
  logged([&] { save(20'000); });
  EXPECT_EQ(saved(), Steps{20'000});
}

TEST_F(CheckpointingTest, TheNextOneIsSavedWhenTheDiskIsBack) {
  take_metrics_away();
  logged([&] { save(100); });
  bring_metrics_back();
  logged([&] { save(200); });
  EXPECT_EQ(saved(), Steps{200});
  take_metrics_away();
  logged([&] { EXPECT_NO_THROW(save(300)) << "the failure before is forgotten"; });
}

TEST_F(CheckpointingTest, AProofOfTheStorageEndsTheRunAtOnce) {
  config_.checkpoint.test_write = true;
  make("100", "auto");
  EXPECT_TRUE(checkpoints_->due(1));
  take_metrics_away();
  logged([&] { EXPECT_THROW(checkpoints_->start(1, 2.0), Error); });
}

TEST_F(CheckpointingTest, AtTheEndItIsTriedTwice) {
  logged([&] { save(100); });
  take_metrics_away();
  const std::string said = logged([&] { EXPECT_THROW(checkpoints_->finish(101, 2.0), Error); });
  EXPECT_EQ(said.find("tried once more, since the run ends here") != std::string::npos, world_->rank() == 0) << said;
  EXPECT_EQ(saved(), Steps{100});
}

TEST_F(CheckpointingTest, AStatusThatCannotBeWrittenEndsNoRun) {
  on_rank_0([&] {
    fs::remove(status());
    fs::create_directories(status() + "/in the way");
  });
  const std::string said = logged([&] { checkpoints_->finish(1, 2.0); });
  EXPECT_EQ(said.find("status.json does not name the checkpoint of step 1") != std::string::npos, world_->rank() == 0)
      << said;
  EXPECT_EQ(saved(), Steps{1});
  EXPECT_EQ(checkpoint::step_of(checkpoints_->newest()), 1);
}

}  // namespace
}  // namespace octet
