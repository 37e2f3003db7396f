// Two starts of one run directory: the second is refused, or follows the first, and none undoes what the other does.
#include <sys/stat.h>

#include <array>
#include <csignal>

#include "src/owner/evidence.h"
#include "src/owner/owner_file.h"
#include "tests/jobs/endless_run.h"
#include "tests/jobs/saved.h"

namespace octet::test {
namespace {

namespace fs = std::filesystem;

const std::string saving = "--checkpoint.interval 10";

/// Everything in a run directory and when it was changed last, but for what a process may have been in the midst of:
/// event files, of which each process has its own, and views, which are the same whoever makes them.
std::map<std::string, fs::file_time_type> times_of(const std::string& directory) {
  std::map<std::string, fs::file_time_type> times;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    const std::string path = entry.path();
    if (path.find("/tensorboard/") != std::string::npos || path.find("/view.h5") != std::string::npos) continue;
    if (entry.is_regular_file()) times[path] = entry.last_write_time();
  }
  return times;
}

void expect_turned_away(const TrainedRun& second) {
  EXPECT_EQ(second.result.exit_code, 64) << second.result.all();
  EXPECT_EQ(occurrences(second.result.err, " E "), 1) << second.result.err;
  EXPECT_HAS(second.result.err, "another run is at work there: process ");
  EXPECT_HAS(second.result.err, "last heard of ");
}

TEST(SecondStart, BesideARunIsRefusedAndTouchesNothing) {
  EndlessRun first(saving);
  first.wait_until([&] { return !checkpoints_of(first.run()).empty(); });
  const auto processes = first.processes("0");
  ASSERT_EQ(processes.size(), 1u);
  const TrainedRun second = train_in(first.run().directory, 2, saving);
  expect_turned_away(second);
  EXPECT_HAS(second.result.err, fmt::format("process {} on ", processes[0]));
  fs::create_directory_symlink(fs::path(first.run().directory).filename(), workplace() / "runs/link");
  expect_turned_away(train_in("runs/link", 3, saving));
  write_bytes(first.run().file("stop"), "");
  const TrainedRun& run = first.end();
  EXPECT_EQ(run.result.exit_code, 75) << run.result.all();
  EXPECT_EQ(occurrences(run.result.err, " E "), 0) << run.result.err;
  expect_whole_until(run, run.status()["step"]);
  EXPECT_TRUE(read_owner(run.file(""))->released);
}

TEST(SecondStart, BesideAStoppedRunLeavesEveryFileAsItIs) {
  EndlessRun first(saving);
  first.wait_until([&] { return !checkpoints_of(first.run()).empty(); });
  for (const pid_t rank : first.processes()) ::kill(rank, SIGSTOP);
  const std::string directory = workplace() / first.run().directory;
  const auto before = times_of(directory);
  expect_turned_away(train_in(first.run().directory, 2, saving));
  EXPECT_EQ(times_of(directory), before);
  for (const pid_t rank : first.processes()) ::kill(rank, SIGKILL);
  first.end();
}

TEST(SecondStart, AtOnceWithTheFirstOneOfThemWins) {
  const std::string directory = new_run_directory();
  std::array<std::future<TrainedRun>, 3> starts;
  for (auto& start : starts) {
    start = std::async(std::launch::async, [&] {
      return train_in(directory, 1, "--train.steps 1000000 --train.max_wall_time 0:00:10 --checkpoint.interval 100000");
    });
  }
  int won = 0;
  for (auto& start : starts) {
    const TrainedRun run = start.get();
    if (run.result.exit_code == 75) {
      ++won;
      expect_whole_until(run, run.status()["step"]);
    } else {
      expect_turned_away(run);
    }
  }
  EXPECT_EQ(won, 1);
}

TEST(SecondStart, FollowsARunThatWasKilledAndSaysSo) {
  EndlessRun first(saving);
  first.wait_until([&] { return !checkpoints_of(first.run()).empty(); });
  const TrainedRun killed = first.end_by_kill();
  EXPECT_EQ(killed.status()["state"], "running") << "nobody could say otherwise";
  const CommandResult report = in_workplace(OCTET_BIN_DIR "/octet report " + killed.directory + " --output lost.html");
  EXPECT_EQ(report.exit_code, 0) << report.all();
  EXPECT_HAS(read_bytes(workplace() / "lost.html"), "it could not say why it ended: process ");
  const std::int64_t saved = steps_of(killed).front();
  const TrainedRun next = train_in(killed.directory, 2, fmt::format("{} --train.steps {}", saving, saved + 10));
  EXPECT_EQ(next.result.exit_code, 0) << next.result.all();
  EXPECT_HAS(next.result.err, "taken over from process ");
  EXPECT_HAS(next.result.err, "there is no such process on its machine any more");
  expect_whole_until(next, saved + 10);
  const TrainedRun again = train_in(killed.directory, 2, fmt::format("{} --train.steps {}", saving, saved + 10));
  EXPECT_EQ(again.result.exit_code, 0) << again.result.all();
  EXPECT_EQ(occurrences(again.result.err, "taken over"), 0) << "of a run that has ended";
}

/// An owner that was stopped for so long that another run followed it, and then wakes up.
TEST(SecondStart, AnOwnerThatWakesUpAfterItWasFollowedEndsWith71) {
  const std::string same = "--train.micro_batch 1 --precision fp32 " + saving;
  constexpr double patience = 2;  // of both, which else is minutes
  setenv("OCTET_TEST_OWNER_SECONDS", "2", 1);
  EndlessRun first(same);
  // Behind a save, which is 10 steps before the next: one that is stopped between the look at owner.json and the rename
  // of status.json writes over that of its follower, as docs/run-directories.md says.
  first.wait_until([&] { return !checkpoints_of(first.run()).empty() && first.run().status().contains("checkpoint"); });
  for (const pid_t rank : first.processes()) ::kill(rank, SIGSTOP);
  const std::string directory = first.run().directory;
  first.wait_until([&] { return age_by_file_server(owner_path(workplace() / directory)).value_or(0) > patience; });
  const std::int64_t saved = steps_of(first.run()).front();
  const TrainedRun second = train_in(directory, 2, fmt::format("{} --train.steps {}", same, saved + 20));
  unsetenv("OCTET_TEST_OWNER_SECONDS");
  ASSERT_EQ(second.result.exit_code, 0) << second.result.all();
  EXPECT_HAS(second.result.err, "it has not been heard of for too long");
  const auto after = times_of(workplace() / directory);
  for (const pid_t rank : first.processes()) ::kill(rank, SIGCONT);
  const TrainedRun& late = first.end();
  EXPECT_EQ(late.result.exit_code, 71) << late.result.all();
  EXPECT_HAS(late.result.err, "is another run's now: process ");
  EXPECT_EQ(times_of(workplace() / directory), after);
  EXPECT_EQ(second.status()["state"], "finished");
  expect_whole_until(second, saved + 20);
}

}  // namespace
}  // namespace octet::test
