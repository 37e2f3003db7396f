// How jobs end: exit code and message of mpiexec when ranks fail, and that nobody is left hanging.
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "tests/support/run_command.h"

namespace octet::test {
namespace {

/// The bound is against hanging only.
CommandResult job(int ranks, const std::string& arguments) {
  return run_command("exec mpiexec -n " + std::to_string(ranks) + " " OCTET_BIN_DIR "/octet-failing-job " + arguments);
}

int occurrences(const std::string& text, const std::string& what) {
  int n = 0;
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

bool contains(const std::string& text, const std::string& what) {
  return text.find(what) != std::string::npos;
}

TEST(Launch, AJobThatWorksExitsWithZero) {
  const CommandResult r = job(3, "nothing 0");
  EXPECT_EQ(r.exit_code, 0) << r.all();
  EXPECT_EQ(r.out, "finished: 3 on 0 of 3\n");
}

TEST(Launch, ACodeThatAllRanksReturnIsTheJobs) {
  EXPECT_EQ(job(3, "resumable 0").exit_code, 75);
}

TEST(Launch, AnExceptionOnAnyRankEndsAllWithItsMessageOnce) {
  for (const int rank : {0, 1, 2}) {
    const CommandResult r = job(3, "internal " + std::to_string(rank));
    EXPECT_FALSE(r.timed_out);
    EXPECT_EQ(r.exit_code, 70) << r.all();
    EXPECT_EQ(occurrences(r.err, "[ops] shapes [2, 3] and [4] do not match"), 1) << r.err;
    EXPECT_TRUE(contains(r.err, "[rank " + std::to_string(rank) + " ")) << r.err;
  }
}

TEST(Launch, ForeignExceptionsAreInternalErrors) {
  EXPECT_EQ(job(2, "bad_alloc 1").exit_code, 70);
  EXPECT_EQ(job(2, "other 1").exit_code, 70);
  EXPECT_EQ(job(1, "other 0").exit_code, 70);
}

TEST(Launch, AUsageErrorOfAllRanksIsPrintedOnceByRank0) {
  const CommandResult r = job(3, "usage -1");
  EXPECT_EQ(r.exit_code, 64) << r.all();
  EXPECT_EQ(occurrences(r.err, "[data] train.bin: no such file"), 1) << r.err;
  EXPECT_FALSE(contains(r.err, "[rank")) << r.err;
}

TEST(Launch, AUsageErrorOfOneRankIsPrintedWithItsName) {
  const CommandResult r = job(3, "usage 2");
  EXPECT_EQ(r.exit_code, 64) << r.all();
  EXPECT_EQ(occurrences(r.err, "[data] train.bin: no such file"), 1) << r.err;
  EXPECT_TRUE(contains(r.err, "[rank 2 ")) << r.err;
}

TEST(Launch, AbortEndsTheJobWithItsCode) {
  EXPECT_EQ(job(3, "abort 1").exit_code, 77);
}

TEST(Launch, ARankThatDiesEndsTheJob) {
  for (const char* how : {"exit", "crash"}) {
    const CommandResult r = job(3, std::string(how) + " 1");
    EXPECT_FALSE(r.timed_out) << how;
    EXPECT_NE(r.exit_code, 0) << how;
    EXPECT_FALSE(contains(r.out, "finished")) << r.out;
  }
}

TEST(Launch, AHangingRankIsNoticedByItsPeersWhichNameTheOperation) {
  const CommandResult r = job(3, "hang 1 2");
  EXPECT_FALSE(r.timed_out);
  EXPECT_EQ(r.exit_code, 71) << r.all();
  EXPECT_TRUE(contains(r.err, "all_reduce (sum) of 4 bytes in group dp_shard for unit layers.3")) << r.err;
  EXPECT_TRUE(contains(r.err, "within 2 s in phase step (comm.timeout_seconds)")) << r.err;
}

/// No scope of the main thread's says where it is.
TEST(Launch, ARankStuckInTheLaunchOfAKernelIsEndedToo) {
  const CommandResult r = job(1, "launch 0 0.5 0.5");
  EXPECT_FALSE(r.timed_out);
  EXPECT_NE(r.exit_code, 0) << r.all();
  EXPECT_TRUE(contains(r.err, "s in or after gemm in phase step (comm.timeout_seconds)")) << r.err;
}

TEST(Launch, AWatchdogsEndLeavesItsReason) {
  const std::string file = "/tmp/octet-launch-test-" + std::to_string(getpid()) + ".txt";
  const CommandResult r =
      run_command("OCTET_FAILURE_FILE=" + file + " exec " OCTET_BIN_DIR "/octet-failing-job stuck 0 0.5 0.5");
  EXPECT_EQ(r.exit_code, 71) << r.all();
  const CommandResult reason = run_command("cat " + file + " && rm " + file);
  EXPECT_EQ(occurrences(reason.out, "\n"), 1) << reason.out;
  EXPECT_TRUE(reason.out.starts_with("71 rank 0 on ")) << reason.out;
  EXPECT_TRUE(contains(reason.out, "in read of train.bin in phase step")) << reason.out;
}

TEST(Launch, ARankStuckInACallIsEndedByItsOwnWatchdog) {
  const CommandResult r = job(1, "stuck 0 0.5 0.5");
  EXPECT_FALSE(r.timed_out);
  EXPECT_NE(r.exit_code, 0) << r.all();
  EXPECT_TRUE(contains(r.err, "stuck for")) << r.err;
  EXPECT_TRUE(contains(r.err, "read of train.bin in phase step (comm.timeout_seconds)")) << r.err;
}

TEST(Launch, WhatADeviceHasNotDoneIsNamed) {
  const CommandResult r = job(1, "device 0 0.5 0.5");
  EXPECT_NE(r.exit_code, 0) << r.all();  // after _exit it is the launcher's: 71, or what it saw first
  EXPECT_TRUE(contains(r.err, "in wait for the device in phase step")) << r.err;
  EXPECT_TRUE(contains(r.err, "not done on the device: reduce_scatter of 64 bytes in group dp_shard for unit layers.2"))
      << r.err;
}

TEST(Launch, AnErrorOfADevicesLibraryEndsARankThatWaits) {
  const CommandResult r = job(2, "device_error 1 300");
  EXPECT_FALSE(r.timed_out);
  EXPECT_EQ(r.exit_code, 71) << r.all();
  EXPECT_TRUE(contains(r.err, "group dp_shard: NCCL: remote process exited")) << r.err;
}

TEST(Launch, ABusyRankIsLeftAlone) {
  const CommandResult r = job(1, "busy 0 1 1");
  EXPECT_EQ(r.exit_code, 0) << r.all();
}

TEST(Launch, ALoneTaskOfSrunIsRefusedWithAdvice) {
  const CommandResult r =
      run_command("SLURM_STEP_ID=0 SLURM_NTASKS=4 SLURM_PROCID=1 " OCTET_BIN_DIR "/octet-failing-job nothing 0");
  EXPECT_EQ(r.exit_code, 64) << r.all();
  EXPECT_TRUE(contains(r.err, "srun --mpi=pmi2")) << r.err;
}

TEST(Launch, AShellWithinAnAllocationIsNotRefused) {
  const CommandResult r = run_command("SLURM_JOB_ID=7 SLURM_NTASKS=4 " OCTET_BIN_DIR "/octet-failing-job nothing 0");
  EXPECT_EQ(r.exit_code, 0) << r.all();
}

TEST(Launch, ABadDeadlineIsRefused) {
  EXPECT_EQ(job(2, "nothing 0 0").exit_code, 64);
}

}  // namespace
}  // namespace octet::test
