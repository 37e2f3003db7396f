// What status.json says of checkpoints.
#include "src/train/run/run_log.h"

#include "src/metrics/status.h"
#include "src/train/start/run_directory.h"
#include "tests/equivalence/trainer_test.h"

namespace octet {
namespace {

class RunLogTest : public TrainerTest {
 protected:
  RunLogTest()
      : mesh_(make_mpi_communicator(*stream_, "world"), {.dp_shard = 0}),
        environment_{.mesh = mesh_,
                     .control = *world_,
                     .stream = *stream_,
                     .traces = {},
                     .ranks_on_node = 1,
                     .node = "node",
                     .resolved_yaml = ""},
        directory_{.path = folder_ / "run"} {
    write_run_directory(directory_, "", *world_);
  }

  RunStatus status() const { return read_status(directory_.status()).value(); }

  Mesh mesh_;
  RunEnvironment environment_;
  RunDirectory directory_;
};

/// By it a job knows, before the start's own first checkpoint, how early it has to be told to save.
TEST_F(RunLogTest, WhatACheckpointTookIsKnownToTheNextStart) {
  {
    RunLog log(config_, environment_, directory_);
    log.committed(
        {.step = 4, .stall_seconds = 2, .write_seconds = 60, .path = directory_.checkpoints() + "/step-000004"});
    if (world_->rank() == 0) {
      EXPECT_EQ(status().checkpoint_seconds, 62);
      EXPECT_EQ(status().restarts, 0);
    }
  }
  world_->barrier();
  directory_.resumes = true;
  const RunLog log(config_, environment_, directory_, {.step = 4, .checkpoint = "step-000004"});
  if (world_->rank() != 0) return;
  EXPECT_EQ(status().checkpoint_seconds, 62);
  EXPECT_EQ(status().restarts, 1);
  EXPECT_EQ(status().step, 4);
}

}  // namespace
}  // namespace octet
