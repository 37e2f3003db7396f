// Disks that are full, or that have become read-only, and folders that cannot be written, while a run starts and while
// its report is written.
#include "tests/jobs/saved.h"

namespace octet::test {
namespace {

namespace fs = std::filesystem;

#if !defined(__SANITIZE_ADDRESS__)
/// The command, where every write to a path that begins like this meets that fault.
CommandResult with_fault(const std::string& kind, const std::string& path, const std::string& command) {
  return in_workplace(
      fmt::format("env LD_PRELOAD={} OCTET_FAULT_ROOT={} OCTET_FAULT={}:1 {}", OCTET_FAULTS, path, kind, command));
}

/// A start whose trial, whether checkpoints could be written, meets that fault.
TrainedRun started(const std::string& kind) {
  const std::string directory = new_run_directory(), there = workplace() / directory;
  return {with_fault(kind, there + "/checkpoints/writable",
                     launched(2, "run.yaml --run.dir " + there + " --train.steps 2 --checkpoint.interval 2")),
          directory};
}

/// It may have room again when the first checkpoint is due, and saves are tried again.
TEST(FullDisk, StopsNoStart) {
  const TrainedRun run = started("enospc");
  EXPECT_EQ(run.result.exit_code, 0) << run.result.all();
  EXPECT_EQ(steps_of(run), std::vector<std::int64_t>{2});
}

/// The first status of a run: there is no file yet that could be written in place.
TEST(FullDisk, IsToldAsTheReasonForWhichThereIsNoStatus) {
  const std::string there = workplace() / new_run_directory();
  const CommandResult full =
      with_fault("enospc", there + "/status.json",
                 launched(1, "run.yaml --run.dir " + there + " --train.steps 2 --checkpoint.interval off"));
  EXPECT_EQ(full.exit_code, 70) << full.all();
  EXPECT_HAS(full.err, "status.json: cannot be written: No space left on device");
}

/// What docs/problems.md names makes room before the log of a run that goes on takes any, and a start that still fails
/// uses none up.
TEST(FullDisk, AStartThatCannotCutTheLogHasMadeRoomAndLeavesTheLogAsItWas) {
  TrainedRun run = train(1, "--train.steps 8 --checkpoint.interval 2 --checkpoint.keep 4");
  ASSERT_EQ(steps_of(run), (std::vector<std::int64_t>{8, 6, 4, 2})) << run.result.all();
  fs::remove_all(checkpoints_of(run).front());
  const std::string there = workplace() / run.directory, metrics = read_bytes(run.file("metrics.jsonl"));
  const std::string again =
      "run.yaml --run.dir " + there + " --train.steps 8 --checkpoint.interval 2 --checkpoint.keep ";
  for (int start = 0; start < 2; ++start) {
    const CommandResult full = with_fault("enospc", there + "/metrics.discarded.jsonl", launched(1, again + "1"));
    EXPECT_EQ(full.exit_code, 70) << full.all();
    EXPECT_HAS(full.err,
               "metrics.discarded.jsonl: cannot be written: No space left on device (docs/problems.md, \"The disk is "
               "full\")");
    EXPECT_EQ(read_bytes(run.file("metrics.jsonl")), metrics);
    EXPECT_FALSE(run.has("metrics.jsonl.tmp"));
    EXPECT_EQ(steps_of(run), std::vector<std::int64_t>{6});
    EXPECT_EQ(run.status()["restarts"], 0) << "it was not resumed";
  }
  run.result = in_workplace(launched(1, again + "4"));
  EXPECT_EQ(run.result.exit_code, 0) << run.result.all();
  expect_whole_until(run, 8);
  EXPECT_EQ(run.lines("metrics.discarded.jsonl").size(), 2u);
}

/// Another start may go well, on another node: a job's script has to know that from a mistake, which it does not
/// repeat.
TEST(BrokenDisk, EndsAStartAsNoMistakeOfTheUser) {
  const TrainedRun run = started("erofs");
  EXPECT_EQ(run.result.exit_code, 70) << run.result.all();
  EXPECT_HAS(run.result.err, "cannot be written: Read-only file system");
  EXPECT_EQ(run.status()["state"], "failed");
  EXPECT_EQ(run.status()["steps"], 2) << "of the run, though it had not begun";
}

/// The run is finished, and its status says so.
TEST(BrokenDisk, ATraceThatCannotBeWrittenIsAWarning) {
  const std::string directory = new_run_directory();
  fs::create_directories(workplace() / (directory + "/trace-rank0.jsonl/folder"));
  const TrainedRun run = train_in(directory, 1, "--train.steps 2 --comm.trace true");
  EXPECT_EQ(run.result.exit_code, 0) << run.result.all();
  EXPECT_HAS(run.result.err, "trace-rank0.jsonl: cannot be written: ");
  EXPECT_EQ(run.status()["state"], "finished");
}

TEST(FullDisk, LeavesTheReportThatWasThere) {
  const std::string page = workplace() / "full-disk.html";
  const std::string command = octet_tool + "report " + saved_run().directory + " --output " + page;
  ASSERT_EQ(in_workplace(command).exit_code, 0);
  const std::string before = read_bytes(page);
  const CommandResult full = with_fault("enospc", page, command);
  EXPECT_EQ(full.exit_code, 70) << full.all();
  EXPECT_HAS(full.err, "No space left on device");
  EXPECT_EQ(read_bytes(page), before);
  for (const auto& entry : fs::directory_iterator(workplace().path())) {
    EXPECT_NE(entry.path().extension(), ".tmp") << entry.path();
  }
}
#endif

/// A folder stands where the trial writes its file.
TEST(CheckpointsThatCannotBeWritten, AreToldInTheDirectoryOfAFirstStart) {
  const std::string directory = new_run_directory();
  fs::create_directories(workplace() / (directory + "/checkpoints/writable"));
  const TrainedRun run = train_in(directory, 2, "--train.steps 2 --checkpoint.interval 2");
  EXPECT_EQ(run.result.exit_code, 64) << run.result.all();
  ASSERT_TRUE(run.has("status.json")) << run.result.all();
  EXPECT_EQ(run.status()["state"], "failed");
  EXPECT_EQ(run.status()["exit_code"], 64);
  EXPECT_EQ(run.status()["steps"], 2);
  EXPECT_HAS(read_bytes(run.file("failure.txt")), " exit code 64: [checkpoints] ");
  const CommandResult page = in_workplace(octet_tool + "report " + directory + " --output unwritable.html");
  EXPECT_EQ(page.exit_code, 0) << page.all();
  EXPECT_HAS(read_bytes(workplace() / "unwritable.html"), "cannot be written");
}

TEST(CheckpointsThatCannotBeWritten, AreToldInPlaceOfTheEndBefore) {
  const std::string arguments = "--train.steps 4 --checkpoint.interval 2";
  TrainedRun run = train(2, "--train.steps 2 --checkpoint.interval 2");
  ASSERT_EQ(run.result.exit_code, 0) << run.result.all();
  fs::create_directories(run.file("checkpoints/writable"));
  run = train_in(run.directory, 2, arguments);
  EXPECT_EQ(run.result.exit_code, 64) << run.result.all();
  EXPECT_EQ(run.status()["state"], "failed");
  EXPECT_EQ(run.status()["step"], 2);
  EXPECT_EQ(run.status()["steps"], 4);
  fs::remove(run.file("checkpoints/writable"));
  run = train_in(run.directory, 2, arguments);
  EXPECT_EQ(run.result.exit_code, 0) << run.result.all();
  expect_whole_until(run, 4);
}

}  // namespace
}  // namespace octet::test
