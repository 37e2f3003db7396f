// A rank that stands still, stopped from outside or in a call that never ends, does not keep the others: each finds by
// itself that nothing goes on, says where, and ends with 71 within its limit and 5 s more.
#include <array>
#include <chrono>
#include <regex>

#include "checkpoints/format/format.h"
#include "src/base/seconds_since.h"
#include "tests/jobs/endless_run.h"
#include "tests/jobs/saved.h"

namespace octet::test {
namespace {

constexpr int limit = 4;  // seconds, of every phase

/// Until the job has ended, with its start and what it trains, on a machine that is busy: against a limit that is taken
/// for another, such as the ten minutes that is the default.
constexpr double most_seconds = 2 * limit + 30;

/// Two ranks, the second of which stops at that place.
TrainedRun stopped_at(const std::string& place, const std::string& arguments = "", const std::string& file = "",
                      const std::string& directory = new_run_directory()) {
  const std::string environment = fmt::format(
      "-genv LD_PRELOAD {} -genv OCTET_STOP_AT {} -genv OCTET_FAILURE_FILE {}.failure -genv OCTET_STOP_FILE '{}'",
      OCTET_STOP_AT_LIBRARY, place, directory, file);
  const std::string command = fmt::format(
      "mpiexec -n 2 {} {} run.yaml --run.dir {} --comm.start_timeout_seconds {} --comm.timeout_seconds {} "
      "--comm.checkpoint_timeout_seconds {} {}",
      environment, octet_train, directory, limit, limit, limit, arguments);
  std::filesystem::create_directories(workplace() / "runs");
  const auto start = std::chrono::steady_clock::now();
  TrainedRun run{in_workplace(command), directory};
  EXPECT_LE(seconds_since(start), most_seconds) << run.result.err;
  return run;
}

void expect_ended(const TrainedRun& run, const std::string& what) {
  EXPECT_FALSE(run.result.timed_out);
  EXPECT_NE(run.result.exit_code, 0);  // after _exit it is the launcher's, which may have seen another death first
  EXPECT_TRUE(std::regex_search(run.result.err, std::regex(what))) << run.result.err;
  const std::string reason = read_bytes(workplace() / (run.directory + ".failure"));
  EXPECT_TRUE(reason.starts_with("71 rank 0 on ")) << reason;
  EXPECT_TRUE(std::regex_search(reason, std::regex(what))) << reason;
  EXPECT_EQ(occurrences(reason, "\n"), 1) << reason;
}

void expect_reason_in_directory(const TrainedRun& run) {
  EXPECT_HAS(read_bytes(run.file("failure.txt")), "rank 0 exit code 71: [comm]");
  const auto status = run.status();
  EXPECT_EQ(status["state"], "failed");
  EXPECT_EQ(status["exit_code"], 71);
  EXPECT_HAS(status["reason"].get<std::string>(), "rank 0 of 2");
}

TEST(AStoppedRank, AtTheStartOfMpi) {
  expect_ended(stopped_at("MPI_Init_thread"), "in MPI_Init_thread in phase start \\(comm.start_timeout_seconds\\)");
}

TEST(AStoppedRank, WhereItOpensItsData) {
  expect_ended(stopped_at("open", "", "text.bin"), "in phase start \\(comm.start_timeout_seconds\\)");
}

TEST(AStoppedRank, InAStep) {
  EndlessRun run(fmt::format("--comm.timeout_seconds {}", limit));
  const auto start = std::chrono::steady_clock::now();
  const TrainedRun& ended = run.end_by(SIGSTOP, "1");
  EXPECT_LE(seconds_since(start), most_seconds);
  EXPECT_EQ(ended.result.exit_code, 71) << ended.result.err;
  EXPECT_HAS(ended.result.err, "in phase step (comm.timeout_seconds)");
  expect_reason_in_directory(ended);
}

/// As by `scontrol suspend`, or by Ctrl-Z: nobody could do anything meanwhile, so nobody has waited for anybody.
TEST(StoppedRanks, OfAllOfARunGoOnWhenTheyAreWoken) {
  constexpr int short_limit = 2;
  EndlessRun run(fmt::format("--comm.timeout_seconds {} --checkpoint.interval 100000", short_limit));
  for (const pid_t rank : run.processes()) ::kill(rank, SIGSTOP);
  const auto steps = [&] { return occurrences(read_bytes(run.run().file("metrics.jsonl")), "\n"); };
  const int before = steps();
  std::this_thread::sleep_for(std::chrono::seconds(2 * short_limit + 2));
  for (const pid_t rank : run.processes()) ::kill(rank, SIGCONT);
  EndlessRun::wait_until([&] { return steps() > before + 3; });
  write_bytes(run.run().file("stop"), "");
  const TrainedRun& ended = run.end();
  EXPECT_EQ(ended.result.exit_code, 75) << ended.result.all();
  EXPECT_EQ(occurrences(ended.result.err, " E "), 0) << ended.result.err;
}

TEST(AStoppedRank, WhereItWritesACheckpoint) {
  const TrainedRun run = stopped_at("fsync", "--train.steps 1000 --checkpoint.interval '2 steps'");
  expect_ended(run, "in phase (step|checkpoint) \\(comm\\.");
  expect_reason_in_directory(run);
}

TEST(AStoppedRank, WhereAWriteOfACheckpointNeverEnds) {
  const TrainedRun run = stopped_at("fsync_hangs", "--train.steps 1000 --checkpoint.interval '2 steps'");
  EXPECT_FALSE(run.result.timed_out);
  const std::string reason = read_bytes(run.file("failure.txt"));
  EXPECT_HAS(reason,
             "rank 1 exit code 71: [comm] wait for the checkpoint writer has not completed within 4 s in phase "
             "checkpoint (comm.checkpoint_timeout_seconds): the file system of ");
  const std::string file = checkpoint::temporary_name(2, "[^/]*") + "/" + checkpoint::file_name(1);
  EXPECT_TRUE(std::regex_search(reason, std::regex(" does not answer for .*/checkpoints/" + file))) << reason;
  EXPECT_EQ(run.status()["state"], "failed");
}

TEST(AStoppedRank, WhereAReadOfACheckpointNeverEnds) {
  TrainedRun run = train(2, "--train.steps 2 --checkpoint.interval 1000");
  ASSERT_FALSE(checkpoints_of(run).empty()) << run.result.err;
  const std::string file = checkpoints_of(run).front() + "/" + checkpoint::file_name(1);
  const std::string named = file.substr(file.find(run.directory));
  run = stopped_at("open_hangs", "--train.steps 4 --checkpoint.interval 1000", named, run.directory);
  EXPECT_EQ(run.result.exit_code, 71) << run.result.err;
  EXPECT_HAS(run.result.err, "read of a checkpoint's files has not completed within 4 s in phase checkpoint");
  EXPECT_TRUE(std::regex_search(run.result.err, std::regex("the file system of \\S+ does not answer for " + named)))
      << run.result.err;
  EXPECT_HAS(read_bytes(run.file("failure.txt")), "exit code 71: [comm] read of a checkpoint's files");
}

TEST(AStoppedRank, WhereOldCheckpointsAreLookedAtForRemoval) {
  const std::string interval = "--checkpoint.interval 2 --checkpoint.keep ";
  const TrainedRun first = train(2, "--train.steps 6 " + interval + "3");
  ASSERT_EQ(steps_of(first).size(), 3u) << first.result.err;
  // Rank 0 reads the manifest of one that may have to stay, and rank 1 a file of it.
  for (const auto& [file, rank, named] :
       std::vector<std::array<std::string, 3>>{{checkpoint::manifest_name, "0", "checkpoints"},
                                               {checkpoint::file_name(1), "1", checkpoint::file_name(1)}}) {
    const std::string copy = new_run_directory();
    std::filesystem::copy(workplace() / first.directory, workplace() / copy, std::filesystem::copy_options::recursive);
    const TrainedRun run =
        stopped_at("open_hangs", "--train.steps 8 " + interval + "2", checkpoint::directory_name(4) + "/" + file, copy);
    EXPECT_FALSE(run.result.timed_out);
    const std::string reason = read_bytes(run.file("failure.txt"));
    EXPECT_HAS(reason, " rank " + rank + " exit code 71: [comm] wait for the removal of old checkpoints ");
    EXPECT_TRUE(std::regex_search(reason, std::regex("the file system of \\S+ does not answer for \\S*" + named + " ")))
        << reason;
  }
}

/// What was done stays done.
TEST(AStoppedRank, WhereTheViewOfTheLastCheckpointIsNeverMade) {
  const TrainedRun run = stopped_at("open_hangs", "--train.steps 2 --checkpoint.interval 1000", "view.h5.tmp");
  expect_ended(run,
               "wait for the view of a checkpoint has not completed within 4 s in phase checkpoint .*: the file system "
               "of \\S+ does not answer for \\S*/step-000002/view.h5 ");
  EXPECT_EQ(run.status()["state"], "finished");
  EXPECT_FALSE(run.has("failure.txt"));
}

TEST(AStoppedRank, AtTheEndOfMpi) {
  const TrainedRun run = stopped_at("MPI_Finalize", "--train.steps 2");
  expect_ended(run, "in MPI_Finalize in phase end \\(comm.timeout_seconds\\)");
  EXPECT_EQ(run.status()["state"], "finished") << "what was done stays done";
}

/// MPI's own end hangs, long before the limit, and nobody stands still but in it.
TEST(AStoppedRank, InMpiThatDoesNotEndIsNoFailure) {
  const std::string directory = new_run_directory();
  const CommandResult result = in_workplace(
      fmt::format("mpiexec -n 2 -genv LD_PRELOAD {} -genv OCTET_STOP_AT MPI_Finalize_hangs {} run.yaml --run.dir {} "
                  "--train.steps 2",
                  OCTET_STOP_AT_LIBRARY, octet_train, directory));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_HAS(result.err, "MPI_Finalize has not ended within 10 s");
  EXPECT_EQ(TrainedRun({result, directory}).status()["state"], "finished");
}

}  // namespace
}  // namespace octet::test
