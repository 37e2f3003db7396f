// octet job, as a job's script asks it: what a launch ended on decides where the next one goes.
#include "tests/jobs/job_command.h"
#include "src/metrics/status.h"
#include "src/owner/record.h"

namespace octet::test {
namespace {

namespace fs = std::filesystem;

TEST_F(JobCommand, LeavesOutTheHostsThatALaunchEndedOn) {
  EXPECT_HAS(before(), "hosts='n[1-2]'");
  EXPECT_HAS(after("76 rank 1 on n1: [files] leave out hosts n2: cannot read /scratch/run on 1 of 2 host(s): "
                   "Stale file handle"),
             "action=restart");
  const std::string second = before();
  EXPECT_HAS(second, "action=launch");
  EXPECT_HAS(second, "hosts='n[1,3]'");
  EXPECT_HAS(after("76 rank 0 on n1: [files] leave out hosts n1: cannot read /scratch/run on 1 of 2 host(s): "
                   "Input/output error"),
             "action=restart");
  const std::string third = before();
  EXPECT_HAS(third, "action=exclude");
  EXPECT_HAS(third, "exclude='n[2,1]'");
}

TEST_F(JobCommand, AsksAgainWhereSlurmDoesNotSayWhyTheRanksWereToldToEnd) {
  before();
  write_status(workplace() / (run_ + "/status.json"), {.state = "stopped", .reason = "SIGTERM", .exit_code = 75});
  for (int again = 0; again < 2; ++again) EXPECT_HAS(ask("after --launcher-code 75"), "action=look_again");
  write_bytes(workplace() / (run_ + "/slurm-job.txt"),
              "JobState=RUNNING Reason=None PreemptTime=2026-11-22T07:29:57 RunTime=00:00:37 TimeLimit=01:00:00\n");
  EXPECT_HAS(ask("after --launcher-code 75", run_ + "/slurm-job.txt"), "action=wait");
  EXPECT_EQ(launches(), 1) << "it was one launch";
}

// While Slurm ends a job whose node failed, scontrol shows "COMPLETING Reason=None" and one restart more, and nothing
// else that tells it from a cancelled one.
TEST_F(JobCommand, WaitsWhereSlurmHasPutTheJobBackIntoTheQueue) {
  const std::string shown = run_ + "/slurm-job.txt";
  write_bytes(workplace() / shown, "JobState=COMPLETING Reason=None Dependency=(null)\n   Requeue=1 Restarts=2\n");
  for (const auto& [began_with, action] : {std::pair{1, "wait"}, {2, "stop"}}) {
    before();
    write_status(workplace() / (run_ + "/status.json"), {.state = "failed", .reason = "lost", .exit_code = 71});
    EXPECT_HAS(ask(fmt::format("after --terminated --restarts {} --launcher-code 134", began_with), shown),
               fmt::format("action={}", action));
  }
}

TEST_F(JobCommand, ALaunchThatACancellationEndedSaysSo) {
  const std::string shown = run_ + "/slurm-job.txt", reason = "the job was cancelled; SIGTERM";
  write_bytes(workplace() / shown, "JobState=COMPLETING Reason=None Dependency=(null)\n   Requeue=1 Restarts=0\n");
  before();
  write_status(workplace() / (run_ + "/status.json"), {.state = "stopped", .reason = "SIGTERM", .exit_code = 75});
  EXPECT_HAS(ask("after --terminated --restarts 0 --launcher-code 75", shown), "action=stop");
  EXPECT_HAS(read_bytes(workplace() / (run_ + "/job/launches.jsonl")), "\"reason\":\"" + reason + "\"");
  EXPECT_EQ(read_status(workplace() / (run_ + "/status.json"))->reason, reason);
}

/// Slurm tells the question to end, too, also between its record and its answer.
TEST_F(JobCommand, AnswersAgainWhereItWasKilledBeforeItsAnswer) {
  EXPECT_EQ(in_workplace(fmt::format("{}/octet job after --run-dir {} --job 7", OCTET_BIN_DIR, run_)).exit_code, 64);
  before();
  const std::string asked = "after --max-restarts 1 --launcher-code 70";
  for (int again = 0; again < 2; ++again) EXPECT_HAS(ask(asked), "action=restart");
  EXPECT_EQ(launches(), 1) << "it was one launch";
  before();
  for (int again = 0; again < 2; ++again) {
    EXPECT_HAS(ask(asked), "action=stop");
    EXPECT_HAS(read_status(workplace() / (run_ + "/status.json"))->reason, "crash loop: 2 launches in a row");
  }
  EXPECT_EQ(launches(), 2);
}

/// A job that was cancelled meanwhile would be put back into the queue by the first answer.
TEST_F(JobCommand, AnswersWithWhatIsKnownWhenItIsAskedAgain) {
  before();
  write_status(workplace() / (run_ + "/status.json"), {.state = "stopped", .reason = "SIGUSR1", .exit_code = 75});
  EXPECT_HAS(ask("after --launcher-code 75"), "action=requeue");
  write_bytes(workplace() / (run_ + "/slurm-job.txt"), "JobState=COMPLETING Reason=None Restarts=0\n");
  EXPECT_HAS(ask("after --terminated --restarts 0 --launcher-code 75", run_ + "/slurm-job.txt"), "action=stop");
  EXPECT_EQ(launches(), 1);
}

/// What stands in status.json then is of the last save.
TEST_F(JobCommand, TheLastLoggedStepIsThatOfARunThatWasKilled) {
  for (const char* lines : {"{\"step\":7}\n{\"step\":9}\n{\"st", "no JSON\n", ""}) {
    before();
    write_status(workplace() / (run_ + "/status.json"), {.state = "running", .reason = "", .step = 5, .steps = 20});
    write_bytes(workplace() / (run_ + "/metrics.jsonl"), lines);
    EXPECT_HAS(ask("after --launcher-code 137"), "action=restart");
    EXPECT_EQ(read_status(workplace() / (run_ + "/status.json"))->step, *lines == '{' ? 9 : 5) << lines;
  }
}

TEST_F(JobCommand, LooksAtNodesAgainWhereNeitherTheyNorSlurmAnswer) {
  EXPECT_HAS(ask("before --nodes 2 --hosts n[7-8] --preflight " + run_ + "/job/preflight"), "action=look_again");
  EXPECT_EQ(launches(), 0) << "nothing was tried";
  EXPECT_HAS(before(), "action=launch");
}

TEST_F(JobCommand, KeepsSlurmsOrderWhereTheTopologyCannotBeUnderstood) {
  const std::string ask =
      "before --nodes 2 --hosts n[1-3] --preflight " + run_ + "/job/preflight --topology " + run_ + "/t";
  write_bytes(workplace() / (run_ + "/t"), "SwitchName=s0 Level=0 Nodes=n3\nSwitchName=s1 Level=0 Nodes=n[1-2]\n");
  EXPECT_HAS(this->ask(ask), "hosts='n[3,1]'");
  for (const char* odd : {"SwitchName=s0 Level=0 Nodes=n[3\n", "BlockName=b0 BlockIndex=odd Nodes=n3 BlockSize=1\n"}) {
    write_bytes(workplace() / (run_ + "/t"), odd);
    EXPECT_HAS(this->ask(ask), "hosts='n[1-2]'") << odd;
  }
}

TEST_F(JobCommand, TrainsOnOneNodeAtLeast) {
  const CommandResult r =
      in_workplace(fmt::format("{}/octet job before --run-dir {} --nodes -1 --hosts n[1-3] "
                               "--preflight {}/job/preflight",
                               OCTET_BIN_DIR, run_, run_));
  EXPECT_EQ(r.exit_code, 64) << r.all();
  EXPECT_HAS(r.err, "--nodes = -1: expected integer >= 1");
}

TEST(JobHosts, AreThoseOfAListALineEach) {
  const auto hosts = [](const char* words) {
    return in_workplace(fmt::format("{}/octet job hosts {}", OCTET_BIN_DIR, words));
  };
  EXPECT_EQ(hosts("'n[08-10],m1'").out, "n08\nn09\nn10\nm1\n");
  for (const char* wrong : {"", "'n['", "n1 n2"}) EXPECT_EQ(hosts(wrong).exit_code, 64) << wrong;
}

TEST_F(JobCommand, FindsTheReasonInTheLogWhereNoFileCouldHaveIt) {
  before();
  const std::string said = after_silence(
      "2026-11-27 12:00:00 E [checkpoints] step 120 cannot be saved\n"
      "step:   121  loss:   1.0\n"
      "2026-11-27 12:00:05 E [rank 0 n1] [checkpoints] step 140 cannot be saved: No space left on device\n"
      "srun: error: n2: task 1: Killed\n");
  EXPECT_HAS(said, "the launcher ended with 137");
  EXPECT_HAS(said, "srun: error: n2: task 1: Killed");
  EXPECT_HAS(
      said,
      "the last error in the log: 2026-11-27 12:00:05 E [rank 0 n1] [checkpoints] step 140 cannot be saved: No space");
}

/// MPI aborts before Octet can say a word, where nics.frontend names no interface of the node for one.
TEST_F(JobCommand, FindsWhatMpiSaidWhereItDidNotStart) {
  before();
  const std::string said = after_silence(
      "application called MPI_Abort(MPI_COMM_WORLD, 71) - process 1\n"
      "[1795963977.103289] [n1:12550:0] ucp_context.c:1014 UCX  WARN  network device 'eth7' is not available\n"
      "Abort(741985807) on node 1 (rank 1 in comm 0): Fatal error in internal_Init: Other MPI error, error stack:\n"
      "internal_Init(59).............: MPI_Init(argc=0x7ffcb1568ebc, argv=0x7ffcb1568eb0) failed\n"
      "MPIDI_UCX_init_world(288).....: \n"
      "Abort(71) on node 0 (rank 0 in comm 0): Fatal error in internal_Init: Other MPI error, error stack:\n"
      "srun: error: n1: task 1: Exited with exit code 15\n");
  EXPECT_HAS(said, "rank 0 ended before MPI was up, or was killed");
  EXPECT_HAS(said, "; srun: error: n1: task 1: Exited with exit code 15; MPI ended it: Abort(741985807) on node 1");
  EXPECT_EQ(said.find("Abort(71)"), std::string::npos) << said;
}

/// What a watchdog says of a process that hangs has no time, and what older versions said no date.
TEST_F(JobCommand, FindsErrorsWithoutTimeOrDateInTheLog) {
  for (const char* line : {"E [rank 3 n2] a collective hangs", "12:00:05 E [rank 3 n2] a collective hangs"}) {
    before();
    EXPECT_HAS(after_silence(std::string(line) + "\n2026-11-27 12:00:06 W E [rank 4 n2] is no error\n12: 5 ELSE\n"),
               std::string("the last error in the log: ") + line);
  }
}

/// Two jobs of one run that do not know of each other, as under two names: both launch, and the later one's ranks are
/// refused the directory.
class TwoJobs : public JobCommand {
 protected:
  static constexpr const char* look = "before --nodes 2 --hosts n[1-3] --preflight ";

  TwoJobs() {
    for (const int job : {7, 8}) EXPECT_HAS(ask(look + run_ + "/job/preflight", "none", job), "action=launch");
    own({.name = "first", .generation = 1, .host = "elsewhere", .boot_id = "another", .job = {.id = "7"}});
    write_bytes(workplace() / (run_ + "/job/failure-8.txt"), "64 rank 0 on n1: another run is at work there\n");
  }
  void own(const OwnerRecord& owner) { write_bytes(workplace() / (run_ + "/owner.json"), to_json(owner)); }
  std::string launch(int line) const {
    std::istringstream text(read_bytes(workplace() / (run_ + "/job/launches.jsonl")));
    std::string found;
    for (int n = 0; n < line; ++n) std::getline(text, found);
    return found;
  }
};

TEST_F(TwoJobs, EachEndsItsOwnLaunchForItsOwnReason) {
  const std::string refused = ask("after --launcher-code 64", "none", 8);
  EXPECT_HAS(refused, "action=stop");
  EXPECT_HAS(refused, "another run is at work in");
  EXPECT_FALSE(fs::exists(workplace() / (run_ + "/status.json"))) << "it is the first job's";
  EXPECT_HAS(launch(1), "\"action\":\"\"");
  EXPECT_HAS(launch(2), "\"action\":\"stop\"");
  // A rank of the first is killed, and cannot say so.
  write_status(workplace() / (run_ + "/status.json"), {.state = "running", .reason = ""});
  const std::string killed = ask("after --launcher-code 137");
  EXPECT_HAS(killed, "action=restart");
  EXPECT_HAS(killed, "no rank could say why");
  EXPECT_HAS(launch(1), "\"action\":\"restart\"");
}

/// Slurm killed script and ranks while the run started; the script had noted that it was told to end.
TEST_F(JobCommand, TheNextOneEndsALaunchThatWasCancelled) {
  for (const bool told : {false, true}) {
    before();
    write_status(workplace() / (run_ + "/status.json"), {.state = "running", .reason = ""});
    fs::create_directories(workplace() / (run_ + "/job/7"));
    if (told) write_bytes(workplace() / (run_ + "/job/7/told-to-end"), "2026-11-28T18:03:22Z 0\nJobState=COMPLETING\n");
    EXPECT_HAS(before(), "action=launch");
    const auto status = read_status(workplace() / (run_ + "/status.json"));
    EXPECT_EQ(status->state, told ? "stopped" : "failed");
    EXPECT_EQ(status->exit_code, told ? 143 : 71);
    const std::string launch = read_bytes(workplace() / (run_ + "/job/launches.jsonl"));
    EXPECT_HAS(launch, told ? "\"reason\":\"job 7 was cancelled at 2026-11-28T18:03:22Z; its ranks were killed before "
                            : "\"reason\":\"no rank could say why: rank 0 ended before MPI was up, or was killed, or "
                              "its node was lost\"");
    EXPECT_HAS(launch, told ? "\"exit_code\":143,\"action\":\"stop\"" : "\"exit_code\":71,\"action\":\"requeue\"");
  }
}

/// A rank that said why it ended is believed, whoever told its job to end afterwards.
TEST_F(JobCommand, WhatARankHasSaidCountsForMoreThanACancellation) {
  before();
  write_status(workplace() / (run_ + "/status.json"), {.state = "running", .reason = ""});
  fs::create_directories(workplace() / (run_ + "/job/7"));
  write_bytes(workplace() / (run_ + "/job/7/told-to-end"), "2026-11-28T18:03:22Z 0\nJobState=COMPLETING\n");
  write_bytes(workplace() / (run_ + "/job/failure-7.txt"), "76 rank 1 on n2: its weights differ\n");
  before();
  const auto status = read_status(workplace() / (run_ + "/status.json"));
  EXPECT_EQ(status->state, "failed");
  EXPECT_EQ(status->exit_code, 76);
}

TEST_F(TwoJobs, TheRefusedOneLeavesTheStatusAloneWhenTheOtherHasEnded) {
  own({.name = "first", .generation = 1, .released = true, .host = "elsewhere", .job = {.id = "7"}});
  write_status(workplace() / (run_ + "/status.json"), {.state = "running", .reason = ""});
  EXPECT_HAS(ask("after --launcher-code 64", "none", 8), "action=stop");
  EXPECT_EQ(read_status(workplace() / (run_ + "/status.json"))->state, "running");
}

TEST_F(TwoJobs, ALaterStartEndsItsOwnLaunchAlone) {
  own({.name = "second", .generation = 2, .released = true, .host = "elsewhere", .job = {.id = "8"}});
  EXPECT_HAS(ask(look + run_ + "/job/preflight", "none", 8), "action=launch");  // its script was killed and comes again
  EXPECT_HAS(launch(1), "\"action\":\"\"");
  EXPECT_HAS(launch(2), "\"action\":\"requeue\"");
  EXPECT_EQ(launches(), 3);
}

/// A directory of an older version, whose records say less and whose script leaves one file for all jobs.
TEST_F(JobCommand, EndsTheLaunchesOfAnOlderScript) {
  before();
  const std::string log = workplace() / (run_ + "/job/launches.jsonl");
  std::string text = read_bytes(log);
  const std::string added = ",\"owner_before\":\"\"";
  ASSERT_NE(text.find(added), std::string::npos);
  write_bytes(log, text.replace(text.find(added), added.size(), ""));
  fs::remove_all(workplace() / (run_ + "/job/launches"));  // which came later
  write_bytes(workplace() / (run_ + "/job/failure.txt"), "77 rank 0 on n1: the loss is nan\n");
  const std::string ended = ask("after --launcher-code 77");
  EXPECT_HAS(ended, "action=stop");
  EXPECT_HAS(ended, "the loss is nan");
  EXPECT_EQ(launches(), 1);
}

/// Of another program, in an encoding of its own.
TEST_F(JobCommand, TakesALogOfAnyBytes) {
  before();
  EXPECT_HAS(after_silence("srun: error: caf\xe9: task 1: Killed\n"), "action=restart");
}

/// Counts of launches and hosts that were left out are not worth a job's end.
TEST_F(JobCommand, GoesOnWhereALaunchCannotBeRead) {
  before();
  EXPECT_HAS(after("70 rank 0 on n1: lost"), "action=restart");
  const std::string log = workplace() / (run_ + "/job/launches/7.jsonl");
  for (const std::string& damage : {std::string("{\"job\": \"7\", \"ho\n"), std::string("\0\0\0\n", 4)}) {
    fs::remove(log + ".damaged");
    write_bytes(log, read_bytes(log) + damage);
    EXPECT_HAS(before(), "action=launch");
    ASSERT_TRUE(fs::exists(log + ".damaged"));
    const std::string kept = read_bytes(log + ".damaged");
    EXPECT_HAS(kept, "rank 0 on n1: lost");
    EXPECT_TRUE(kept.ends_with(damage)) << kept;
    EXPECT_HAS(after("70 rank 0 on n1: lost"), "action=restart");
  }
  EXPECT_EQ(launches(), 3) << "what can be read stays";
}

TEST_F(JobCommand, ADamagedFileIsKeptInNoFileOfOthers) {
  before();
  const std::string log = workplace() / (run_ + "/job/launches/7.jsonl"), other = workplace() / (run_ + "-other");
  write_bytes(log, "{\"job\": \"7\", \"ho\n");
  write_bytes(other, "mine");
  fs::create_symlink(other, log + ".damaged");
  EXPECT_HAS(before(), "action=launch");
  EXPECT_EQ(read_bytes(other), "mine");
  EXPECT_FALSE(fs::is_symlink(log + ".damaged"));
  EXPECT_HAS(read_bytes(log + ".damaged"), "\"ho\n");
}

/// Each notes its launch, then how that ended, while the others do the same.
TEST_F(JobCommand, ManyJobsAtOnceLoseNoLine) {
  constexpr int jobs = 8;
  const auto all = [&](const std::string& words) {
    std::string commands;
    for (int job = 1; job <= jobs; ++job) {
      commands += fmt::format("{}/octet job {} --run-dir {} --job {} --slurm-job none >/dev/null & ", OCTET_BIN_DIR,
                              words, run_, job);
    }
    write_bytes(workplace() / "at-once.sh", commands + "wait\n");
    EXPECT_EQ(in_workplace("bash at-once.sh").exit_code, 0);
  };
  all("before --nodes 2 --hosts n[1-3] --preflight " + run_ + "/job/preflight");
  EXPECT_EQ(launches(), jobs);
  all("after --launcher-code 137");
  const std::string text = read_bytes(workplace() / (run_ + "/job/launches.jsonl"));
  for (int job = 1; job <= jobs; ++job) EXPECT_HAS(text, fmt::format("\"job\":\"{}\"", job));
  std::size_t ended = 0;
  for (std::size_t at = 0; (at = text.find("\"state\":\"failed\"", at)) != std::string::npos; ++at) ++ended;
  EXPECT_EQ(ended, jobs) << text;
}

TEST_F(JobCommand, LeavesOutNobodyForWhatIsOfTheFileSystem) {
  before();
  EXPECT_HAS(after("70 rank 0 on n1: [files] cannot read /scratch/run on 2 of 2 host(s): Stale file handle; it "
                   "is the file system"),
             "action=restart");
  EXPECT_HAS(before(), "hosts='n[1-2]'");
}

TEST_F(JobCommand, HostsThatWereLeftOutAreTriedAgainWhenTheJobComesBack) {
  before();
  EXPECT_HAS(after("76 rank 1 on n1: [files] leave out hosts n2: cannot read /a on 1 of 2 host(s)"), "action=restart");
  EXPECT_HAS(before(), "hosts='n[1,3]'");
  write_bytes(workplace() / (run_ + "/job/failure-7.txt"), "70 lost\n");
  EXPECT_HAS(ask("after --launcher-code 70 --time-over"), "action=requeue");
  EXPECT_HAS(before(), "hosts='n[1-2]'");
}

TEST_F(JobCommand, NodesAreExcludedUntilALaunchGetsOn) {
  const auto look = [&](const char* sick) {
    for (const std::string node : {"n1", "n2", "n3"}) {
      write_bytes(workplace() / (run_ + "/job/preflight/" + node + ".code"), node == sick ? "76\n" : "0\n");
    }
    return ask("before --nodes 3 --hosts n[1-3] --preflight " + run_ + "/job/preflight");
  };
  EXPECT_HAS(look("n1"), "exclude=n1\n");
  EXPECT_HAS(look("n2"), "exclude='n[2,1]'");
  EXPECT_HAS(look("none"), "action=launch");
  save("step-20");
  EXPECT_HAS(ask("after --launcher-code 71"), "action=restart");
  EXPECT_HAS(look("n3"), "exclude=n3\n");
}

/// A job of one node: what is wrong with it is the node's, and another one may do; what is wrong with the storage is
/// not.
TEST_F(JobCommand, OneUnhealthyNodeIsLeftOutUnlessItsStorageIsWhatIsWrong) {
  const std::string look = run_ + "/job/preflight/";
  write_bytes(workplace() / (look + "n1.code"), "76\n");
  for (const auto& [check, action] : {std::pair{"gpu.ecc", "exclude"}, {"storage.space", "stop"}}) {
    write_bytes(workplace() / (look + "n1.json"),
                fmt::format(R"({{"findings": [{{"check": "{}", "state": "bad", "seen": "what is wrong"}}]}})", check));
    const std::string said = ask("before --nodes 1 --hosts n1 --preflight " + look);
    EXPECT_HAS(said, fmt::format("action={}", action));
    EXPECT_EQ(said.find("which other nodes would have too: storage.space: what is wrong") != std::string::npos,
              std::string(action) == "stop")
        << said;
  }
}

TEST_F(JobCommand, HostsHasHelpAsTheOthersHave) {
  for (const char* words : {"hosts --help", "hosts -h", "before --help"}) {
    const CommandResult r = in_workplace(fmt::format("{}/octet job {}", OCTET_BIN_DIR, words));
    EXPECT_EQ(r.exit_code, 0) << words << "\n" << r.all();
    EXPECT_HAS(r.out, "       octet job hosts LIST\n");
  }
}

}  // namespace
}  // namespace octet::test
