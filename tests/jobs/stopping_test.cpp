// Runs that are asked to stop, and what they leave for the next start.
#include "tests/jobs/endless_run.h"
#include "tests/jobs/saved.h"

namespace octet::test {
namespace {

namespace fs = std::filesystem;

const std::string saved_when_stopped = "--checkpoint.interval 1000000";

/// The run has stopped with exit code 75, its last step's checkpoint is there, and it goes on from that.
void expect_resumable(const TrainedRun& run, const std::string& reason) {
  ASSERT_EQ(run.result.exit_code, 75) << run.result.all();
  const auto status = run.status();
  EXPECT_EQ(status["state"], "stopped");
  EXPECT_EQ(status["reason"], reason);
  EXPECT_EQ(status["exit_code"], 75);
  const std::int64_t step = status["step"];
  EXPECT_EQ(steps_of(run).front(), step);
  EXPECT_EQ(status["checkpoint"], fmt::format("checkpoints/step-{:06}", step));
  EXPECT_HAS(run.result.err, fmt::format("stopped after step {}: {}", step, reason));
  EXPECT_HAS(run.result.err, "to go on: mpiexec -n 2 " + octet_train + " run.yaml ");
  EXPECT_HAS(run.result.err, "--run.dir " + run.directory);
  expect_whole_until(run, step);

  const TrainedRun next = train_in(run.directory, 2, fmt::format("{} --train.steps {}", saved_when_stopped, step + 2));
  EXPECT_EQ(next.result.exit_code, 0) << next.result.all();
  EXPECT_EQ(next.status()["state"], "finished");
  EXPECT_EQ(next.status()["restarts"], 1);
  expect_whole_until(next, step + 2);
}

TEST(StoppingWithCheckpoints, BySignals) {
  for (const auto& [signal, name] :
       std::vector<std::pair<int, std::string>>{{SIGTERM, "SIGTERM"}, {SIGUSR1, "SIGUSR1"}, {SIGINT, "SIGINT"}}) {
    SCOPED_TRACE(name);
    EndlessRun run(saved_when_stopped);
    expect_resumable(run.end_by(signal, signal == SIGINT ? "0" : "1"), name);
  }
}

/// A start in that directory that gets the signal before its first step. The run reads its configuration from a pipe,
/// so that it is in its start for as long as nobody writes there; who writes can open the pipe when the run has, which
/// is behind what hears signals.
TrainedRun told_while_it_starts(const std::string& directory, const std::string& signal) {
  const std::string command = fmt::format(
      "sh -c 'mkfifo slow.yaml; {} slow.yaml --run.dir {} --train.steps 1000000 {} & {{ kill -{} $!; "
      "cat run.yaml; }} > slow.yaml; wait $!; code=$?; rm slow.yaml; exit $code'",
      octet_train, directory, saved_when_stopped, signal);
  return {in_workplace(command, 60), directory};
}

/// One that is told to end takes no step; one whose time is over does, so that it comes on.
TEST(StoppingWithCheckpoints, BySignalsThatComeWhileItStarts) {
  struct Case {
    std::string signal;
    int exit_code, steps;
  };
  for (const auto& [signal, exit_code, steps] : {Case{"TERM", 143, 0}, Case{"USR1", 75, 1}, Case{"INT", 130, 0}}) {
    SCOPED_TRACE(signal);
    const TrainedRun run = told_while_it_starts(new_run_directory(), signal);
    EXPECT_EQ(run.result.exit_code, exit_code) << run.result.all();
    EXPECT_EQ(run.status()["state"], "stopped");
    EXPECT_EQ(run.status()["reason"], "SIG" + signal);
    EXPECT_EQ(run.status()["step"], steps);
    EXPECT_EQ(run.status().contains("checkpoint"), steps == 1);
    const TrainedRun next = train_in(run.directory, 2, saved_when_stopped + " --train.steps 3");
    EXPECT_EQ(next.result.exit_code, 0) << next.result.all();
    expect_whole_until(next, 3);
  }
}

TEST(StoppingWithCheckpoints, BeforeTheFirstStepBehindACheckpoint) {
  const std::string directory = new_run_directory();
  ASSERT_EQ(train_in(directory, 2, saved_when_stopped + " --train.steps 3").result.exit_code, 0);
  const TrainedRun run = told_while_it_starts(directory, "TERM");
  EXPECT_EQ(run.result.exit_code, 75) << run.result.all();
  EXPECT_EQ(run.status()["state"], "stopped");
  EXPECT_EQ(run.status()["step"], 3);
  EXPECT_EQ(run.status()["checkpoint"], "checkpoints/step-000003");
  EXPECT_EQ(steps_of(run), std::vector<std::int64_t>{3});
  expect_whole_until(run, 3);
}

TEST(StoppingWithCheckpoints, ByAFileInTheRunDirectory) {
  EndlessRun run(saved_when_stopped);
  write_bytes(run.run().file("stop"), "");
  expect_resumable(run.end(), "stop file");
  EXPECT_FALSE(run.run().has("stop"));
}

TEST(StoppingWithCheckpoints, ByTheTimeLimit) {
  const TrainedRun run = train(2, saved_when_stopped + " --train.steps 1000000 --train.max_wall_time 0:00:02");
  expect_resumable(run, "train.max_wall_time");
}

TEST(StoppingWithCheckpoints, TheCommandThatIsPrintedGoesOn) {
  // Without --run.dir, whose default is a new directory at every start.
  const CommandResult first = in_workplace(
      launched(2, "run.yaml --checkpoint.interval 1000 --train.steps 1000000 --train.max_wall_time 0:00:02"));
  ASSERT_EQ(first.exit_code, 75) << first.all();
  const std::string mark = "to go on: ";
  const auto at = first.err.find(mark);
  ASSERT_NE(at, std::string::npos) << first.err;
  const std::string command = first.err.substr(at + mark.size(), first.err.find('\n', at) - at - mark.size());
  EXPECT_HAS(command, " --run.dir runs/run-");
  const CommandResult next = in_workplace(command);
  EXPECT_EQ(next.exit_code, 75) << next.all();
  EXPECT_HAS(next.err, "resumed from runs/run-");
}

TEST(StoppingWithoutCheckpoints, SavesNothingAndSaysSo) {
  EndlessRun user, file;
  const TrainedRun& by_signal = user.end_by(SIGUSR1, "0");
  EXPECT_EQ(by_signal.result.exit_code, 143);
  EXPECT_EQ(by_signal.status()["reason"], "SIGUSR1");
  EXPECT_FALSE(by_signal.status().contains("checkpoint"));
  EXPECT_FALSE(by_signal.has("checkpoints"));
  write_bytes(file.run().file("stop"), "");
  EXPECT_EQ(file.end().result.exit_code, 143);
  EXPECT_FALSE(file.run().has("stop"));
}

TEST(Saving, IntervalRetentionAndTheLastStep) {
  const TrainedRun run = train(2,
                               "--train.steps 11 --checkpoint.interval '2 steps' --checkpoint.keep 2 "
                               "--checkpoint.keep_every 4 --checkpoint.test_write true");
  ASSERT_EQ(run.result.exit_code, 0) << run.result.all();
  EXPECT_EQ(steps_of(run), (std::vector<std::int64_t>{11, 10, 8, 4}));
  for (const int step : {1, 2, 4, 6, 8, 10, 11}) {
    EXPECT_HAS(run.result.err, fmt::format("checkpoint of step {}: started, training stood still for", step));
    EXPECT_HAS(run.result.err, fmt::format("checkpoint of step {}: committed, ", step));
  }
  EXPECT_EQ(run.status()["checkpoint"], "checkpoints/step-000011");
  const checkpoint::RunState state = checkpoint::read_manifest(checkpoints_of(run).front()).state;
  EXPECT_EQ(state.seed, 1u);
  EXPECT_EQ(state.layout, "dp_replicate 1 x dp_shard 2 x tp 1");
  EXPECT_EQ(state.loss, run.losses().back());
  EXPECT_HAS(state.config, "model_shape:\n  dim: 32\n");
  EXPECT_HAS(state.program, "octet ");
}

TEST(Saving, ByTimeAndByItself) {
  const TrainedRun minutes = train(2, "--train.steps 3 --checkpoint.interval '0.0000001 min'");
  ASSERT_EQ(minutes.result.exit_code, 0) << minutes.result.all();
  EXPECT_EQ(steps_of(minutes), (std::vector<std::int64_t>{3, 2, 1}));
  const TrainedRun automatic = train(2, "--train.steps 3 --checkpoint.interval auto");
  ASSERT_EQ(automatic.result.exit_code, 0) << automatic.result.all();
  EXPECT_EQ(steps_of(automatic), (std::vector<std::int64_t>{3}));
  EXPECT_HAS(automatic.result.err, "checkpoint.interval auto: every ");
}

TEST(Saving, NoStateIsKeptThatIsNotFinite) {
  const TrainedRun run = train(2, "--optimizer.lr 1e30 --checkpoint.interval 1");
  EXPECT_EQ(run.result.exit_code, 77) << run.result.all();
  const auto status = run.status();
  EXPECT_EQ(status["state"], "failed");
  ASSERT_FALSE(steps_of(run).empty());
  EXPECT_LE(steps_of(run).front(), status["step"].get<std::int64_t>());
  EXPECT_EQ(status["checkpoint"], fmt::format("checkpoints/step-{:06}", steps_of(run).front()));
}

/// The commit of each of these steps finds a file in its way.
std::string with_files_in_the_way(std::initializer_list<int> steps) {
  std::string directory = new_run_directory();
  for (const int step : steps) {
    write_bytes(workplace() / fmt::format("{}/checkpoints/step-{:06}", directory, step), "a file in the way");
  }
  return directory;
}

TEST(Saving, ALastSaveThatFailsIsToldByOneRankForAll) {
  const TrainedRun run = train_in(with_files_in_the_way({4}), 2, "--train.steps 4 --checkpoint.interval 10");
  EXPECT_EQ(run.result.exit_code, 70) << run.result.all();
  EXPECT_EQ(occurrences(run.result.err, "step 4 cannot be saved: rank 0 on "), 2) << run.result.err;
  EXPECT_HAS(run.result.err, "tried once more, since the run ends here");
  EXPECT_EQ(run.result.err.find("[rank 1"), std::string::npos) << run.result.err;
  EXPECT_EQ(run.status()["state"], "failed");
}

TEST(Saving, AFailureOfTheStorageIsSaidAndTriedAgainAtTheNextInterval) {
  const std::string directory = with_files_in_the_way({4});
  const TrainedRun run = train_in(directory, 2, "--train.steps 12 --checkpoint.interval 4");
  ASSERT_EQ(run.result.exit_code, 0) << run.result.all();
  EXPECT_EQ(occurrences(run.result.err, " E "), 1) << run.result.err;
  EXPECT_HAS(run.result.err, "step 4 cannot be saved: rank 0 on ");
  EXPECT_HAS(run.result.err, "is in the way");
  EXPECT_HAS(run.result.err, "saves are tried again at every interval, and training goes on until step 8");
  EXPECT_EQ(steps_of(run), (std::vector<std::int64_t>{12, 8}));
}

TEST(Saving, WhenTheLastCheckpointIsTooOldTheRunEndsAndKeepsIt) {
  const std::string directory = with_files_in_the_way({4, 6, 8, 10});
  const TrainedRun run = train_in(directory, 2, "--train.steps 20 --checkpoint.interval 2 --checkpoint.max_age 6");
  EXPECT_EQ(run.result.exit_code, 70) << run.result.all();
  EXPECT_EQ(run.status()["state"], "failed");
  const std::string reason = run.status()["reason"];
  EXPECT_HAS(reason, "step 8 cannot be saved");
  EXPECT_HAS(reason, "older than checkpoint.max_age allows (6 steps)");
  EXPECT_HAS(reason, "the last one stays: ");
  EXPECT_EQ(occurrences(run.result.err, "tried again at every interval"), 2) << run.result.err;
  EXPECT_EQ(steps_of(run), std::vector<std::int64_t>{2});
  for (const auto& entry : std::filesystem::directory_iterator(run.file("checkpoints"))) {
    EXPECT_NE(entry.path().extension(), ".tmp");
  }
  for (const int step : {4, 6, 8, 10}) {
    std::filesystem::remove(run.file(fmt::format("checkpoints/step-{:06}", step)));
  }
  const TrainedRun after = train_in(directory, 2, "--train.steps 20 --checkpoint.interval 2 --checkpoint.max_age 6");
  EXPECT_EQ(after.result.exit_code, 0) << after.result.all();
}

TEST(Saving, ASaveThatFailsAtTheEndEndsTheRunWith70) {
  const std::string directory = with_files_in_the_way({8});
  const TrainedRun run = train_in(directory, 2, "--train.steps 8 --checkpoint.interval 4");
  EXPECT_EQ(run.result.exit_code, 70) << run.result.all();
  EXPECT_HAS(run.result.err, "tried once more, since the run ends here");
  EXPECT_EQ(run.status()["state"], "failed");
  EXPECT_HAS(run.status()["reason"].get<std::string>(), "step 8 cannot be saved");
  EXPECT_EQ(steps_of(run), std::vector<std::int64_t>{4});
}

#if !defined(__SANITIZE_ADDRESS__)
/// failure.txt, of which ranks know who was first, takes a block of the disk; status.json has its own.
TEST(Saving, AFailureOnAFullDiskIsInTheStatus) {
  const std::string directory = with_files_in_the_way({8}), there = workplace() / directory;
  const TrainedRun run{
      in_workplace(
          fmt::format("env LD_PRELOAD={} OCTET_FAULT_ROOT={}/failure.txt OCTET_FAULT=enospc:1 {}", OCTET_FAULTS, there,
                      launched(2, "run.yaml --run.dir " + there + " --train.steps 8 --checkpoint.interval 4"))),
      directory};
  EXPECT_EQ(run.result.exit_code, 70) << run.result.all();
  EXPECT_FALSE(run.has("failure.txt"));
  EXPECT_EQ(run.status()["state"], "failed");
  EXPECT_HAS(run.status()["reason"].get<std::string>(), "step 8 cannot be saved");
}

/// Of metrics.jsonl, as file systems do that are full and give no reason.
TEST(Saving, WritesOfNothingAreAFullDisk) {
  const std::string directory = new_run_directory();
  const std::string faults = fmt::format("LD_PRELOAD={} OCTET_FAULT_ROOT={}/metrics.jsonl OCTET_FAULT=zero:1",
                                         OCTET_FAULTS, workplace() / directory);
  std::filesystem::create_directories(workplace() / directory);
  const TrainedRun run{in_workplace("env " + faults + " " +
                                    launched(1, "run.yaml --run.dir " + (workplace() / directory) +
                                                    " --train.steps 8 --checkpoint.interval 2")),
                       directory};
  EXPECT_EQ(run.result.exit_code, 70) << run.result.all();
  EXPECT_HAS(
      run.result.err,
      "metrics.jsonl: cannot be written: No space left on device (docs/problems.md, \"The disk is full\"); metrics "
      "are kept in memory");
  EXPECT_HAS(run.result.err, "step 2 cannot be saved: ");
  EXPECT_HAS(run.status()["reason"].get<std::string>(), "step 4 cannot be saved");
  EXPECT_EQ(occurrences(run.result.err, "metrics of the last steps are lost"), 1) << run.result.err;
}
#endif

}  // namespace
}  // namespace octet::test
