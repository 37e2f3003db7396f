// What status.json says of a start that fails before its steps.
#include "src/train/start/failure_status.h"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "src/base/files.h"
#include "src/comm/failure.h"
#include "src/metrics/status.h"
#include "src/train/start/run_directory.h"
#include "tests/equivalence/trainer_test.h"

namespace octet {
namespace {

class FailureBeforeTheSteps : public TrainerTest {
 protected:
  FailureBeforeTheSteps() : directory_{.path = folder_ / "run"} { write_run_directory(directory_, "", {}, *world_); }

  /// A start with `steps` that fails at once, on every rank, where an earlier one left `before`.
  void after(const std::optional<RunStatus>& before, std::int64_t steps) {
    if (world_->rank() == 0) {
      std::filesystem::remove(directory_.status());
      if (before) write_status(directory_.status(), *before);
      left_ = text();
    }
    world_->barrier();
    FailureStatus failure(directory_, *world_, steps);
    leave_reason(ExitCode::internal, "the GPU is gone");
    world_->barrier();
    has_reason_ = std::filesystem::exists(directory_.path + "/failure.txt");
    world_->barrier();
  }
  std::string text() const { return read_text_file(directory_.status()).value_or(""); }

  RunDirectory directory_;
  std::string left_;         ///< status.json before the start, on rank 0
  bool has_reason_ = false;  ///< in failure.txt
};

TEST_F(FailureBeforeTheSteps, LeavesAFinishedRunAsItIs) {
  after(RunStatus{.state = "finished", .reason = "all steps done", .step = 4, .steps = 4, .restarts = 2}, 4);
  EXPECT_FALSE(has_reason_);
  if (world_->rank() == 0) {
    EXPECT_EQ(text(), left_);
  }
}

/// status.json follows failure.txt; tests/jobs sees what it says then (CheckpointsThatCannotBeWritten).
TEST_F(FailureBeforeTheSteps, IsToldWhereStepsAreLeft) {
  const std::vector<std::optional<RunStatus>> table = {
      std::nullopt, RunStatus{.state = "finished", .reason = "all steps done", .step = 4, .steps = 4, .restarts = 2},
      RunStatus{.state = "stopped", .reason = "SIGTERM", .exit_code = 75, .step = 2, .steps = 4}};
  for (const std::optional<RunStatus>& before : table) {
    SCOPED_TRACE(before ? before->state : "none");
    after(before, 16);
    EXPECT_TRUE(has_reason_);
  }
}

}  // namespace
}  // namespace octet
