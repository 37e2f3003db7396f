// A run's checkpoints where the disk refuses something beside them.
#include "src/train/checkpointing.h"

#include <fstream>

#include "checkpoints/restore.h"
#include "src/train/run_directory.h"
#include "tests/equivalence/trainer_test.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

class CheckpointingTest : public TrainerTest {
 protected:
  CheckpointingTest()
      : mesh_(make_mpi_communicator(*stream_, "world"), {.dp_shard = 0}),
        environment_{.mesh = mesh_,
                     .control = *world_,
                     .stream = *stream_,
                     .traces = {},
                     .ranks_on_node = 1,
                     .node = "node",
                     .resolved_yaml = ""} {
    config_.checkpoint.interval = "100";
    config_.run_dir = folder_ / "run";
    trainer_ = std::make_unique<Trainer>(config_, mesh_, *world_, *stream_, nullptr);
    const RunDirectory directory = find_run_directory(config_, "checkpointing", *world_);
    write_run_directory(directory, "", *world_);
    log_ = std::make_unique<RunLog>(config_, environment_, directory);
    checkpoints_ = std::make_unique<Checkpointing>(config_, environment_, *trainer_, *log_, StartingPoint{});
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
  RunEnvironment environment_;
  std::unique_ptr<Trainer> trainer_;
  std::unique_ptr<RunLog> log_;
  std::unique_ptr<Checkpointing> checkpoints_;
};

using Steps = std::vector<std::int64_t>;

/// Rank 0 alone has the file, and all must learn that it failed.
TEST_F(CheckpointingTest, MetricsThatCannotBeSyncedAreAFailedWrite) {
  on_rank_0([&] { fs::remove(metrics()); });
  const std::string said = logged([&] { checkpoints_->start(1, 2.0); });
  EXPECT_EQ(said.find("step 1 cannot be saved: rank 0: ") != std::string::npos, world_->rank() == 0) << said;
  EXPECT_EQ(said.find(metrics()) != std::string::npos, world_->rank() == 0) << said;
  EXPECT_TRUE(checkpoints_->due(2)) << "tried again";
  try {
    checkpoints_->start(2, 2.0);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::internal);
    EXPECT_NE(std::string(error.what()).find("step 2 cannot be saved: rank 0: "), std::string::npos) << error.what();
  }
  EXPECT_EQ(saved(), Steps{});
}

TEST_F(CheckpointingTest, TheNextOneIsSavedWhenTheDiskIsBack) {
  on_rank_0([&] { fs::remove(metrics()); });
  logged([&] { checkpoints_->start(1, 2.0); });
  on_rank_0([&] { std::ofstream(metrics()) << "\n"; });
  logged([&] { checkpoints_->finish(2, 2.0); });
  EXPECT_EQ(saved(), Steps{2});
  EXPECT_FALSE(checkpoints_->due(3)) << "the failure is forgotten";
}

TEST_F(CheckpointingTest, AtTheEndItIsTriedTwice) {
  on_rank_0([&] { fs::remove(metrics()); });
  logged([&] { EXPECT_THROW(checkpoints_->finish(1, 2.0), Error); });
  EXPECT_EQ(saved(), Steps{});
}

TEST_F(CheckpointingTest, AStatusThatCannotBeWrittenEndsNoRun) {
  on_rank_0([&] {
    fs::remove(status());
    fs::create_directories(status() + "/in the way");
  });
  const std::string said = logged([&] { checkpoints_->finish(1, 2.0); });
  EXPECT_EQ(said.find("it does not name the checkpoint of step 1") != std::string::npos, world_->rank() == 0) << said;
  EXPECT_EQ(saved(), Steps{1});
  EXPECT_EQ(checkpoint::step_of(checkpoints_->newest()), 1);
}

}  // namespace
}  // namespace octet
