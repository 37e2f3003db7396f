// octet job: which launches count towards --max-restarts, so that no run comes back for ever.
#include "tests/jobs/job_command.h"

namespace octet::test {
namespace {

using CrashLoop = JobCommand;

/// A launch that Slurm ended for a job of more priority says nothing of the run: it does not count, and what counts
/// stays.
TEST_F(CrashLoop, APreemptedLaunchIsNoneOfACrashLoop) {
  const std::string shown = run_ + "/slurm-job.txt";
  write_bytes(workplace() / shown, "JobState=RUNNING Reason=None PreemptTime=2026-11-22T07:29:57\n");
  for (int launch = 0; launch < 3; ++launch) {  // as many as --max-restarts has
    EXPECT_HAS(before(), "action=launch");
    EXPECT_HAS(after("70 rank 0 on n1: lost"), "action=restart");
  }
  for (int launch = 0; launch < 3; ++launch) {
    EXPECT_HAS(before(), "action=launch");
    EXPECT_HAS(ask("after --launcher-code 75", shown), "action=wait");
  }
  EXPECT_HAS(before(), "action=launch");
  EXPECT_HAS(after("70 rank 0 on n1: lost"), "reason='crash loop: 4 launches in a row left no new checkpoint");
}

/// Which it may have taken down itself. Slurm shows such a job as it shows one that an administrator put back.
TEST_F(CrashLoop, LaunchesThatEachLoseANodeAreACrashLoop) {
  const std::string shown = run_ + "/slurm-job.txt", said = run_ + "/srun.log";
  const std::string ask_after = "after --terminated --restarts 0 --launcher-code 134 --said " + said;
  write_bytes(workplace() / shown, "JobState=COMPLETING Reason=None\n   Requeue=1 Restarts=1\n");
  write_bytes(workplace() / said, "srun: error: Node failure on n2\n");
  for (int launch = 0; launch < 2; ++launch) {
    EXPECT_HAS(before(), "action=launch");
    write_status(workplace() / (run_ + "/status.json"), {.state = "failed", .reason = "lost", .exit_code = 71});
    EXPECT_HAS(ask(ask_after, shown), "action=requeue");
  }
  for (int launch = 0; launch < 2; ++launch) {  // of which nothing was left to ask
    EXPECT_HAS(before(), "action=launch");
    kill_all();
    told_to_end(
        "JobState=COMPLETING Restarts=1\nslurmstepd-n1: error: *** STEP 7.0 ON n1 CANCELLED AT 2026-11-28T18:03:13 "
        "DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***");
  }
  EXPECT_HAS(before(), "reason='crash loop: 4 launches in a row left no new checkpoint");
  const std::string text = read_bytes(workplace() / (run_ + "/job/launches.jsonl"));
  EXPECT_HAS(text, "\"reason\":\"job 7 lost a node, and was ended by Slurm at ");
  EXPECT_EQ(text.find("\"action\":\"wait\""), std::string::npos) << text;
}

/// With spares a job goes on without its node, and may be cancelled then.
TEST_F(CrashLoop, ACancelledJobThatHasLostANodeIsNotPutBack) {
  const std::string shown = run_ + "/slurm-job.txt", said = run_ + "/srun.log";
  write_bytes(workplace() / shown, "JobState=COMPLETING Reason=None\n   Requeue=1 Restarts=0\n");
  write_bytes(workplace() / said, "srun: error: Node failure on n2\n");
  before();
  kill_all();
  EXPECT_HAS(ask("after --terminated --restarts 0 --launcher-code 134 --said " + said, shown), "action=stop");
}

/// Nor is one whose script had no time to say so, or that an administrator put back into the queue.
TEST_F(CrashLoop, ALaunchThatWasKilledForAnotherJobIsNoneOfACrashLoop) {
  for (const auto& [shown, befell] :
       {std::pair{"JobState=COMPLETING Restarts=0 PreemptTime=2026-11-28T18:03:20", "job 7 was preempted at "},
        {"JobState=COMPLETING Restarts=1", "job 7 was put back into the queue at "}}) {
    for (int launch = 0; launch < 5; ++launch) {
      EXPECT_HAS(before(), "action=launch");
      kill_all();
      told_to_end(shown);
    }
    EXPECT_HAS(before(), "action=launch");
    EXPECT_FALSE(std::filesystem::exists(workplace() / (run_ + "/job/7/told-to-end"))) << "it is of no later launch";
    const std::string text = read_bytes(workplace() / (run_ + "/job/launches.jsonl"));
    EXPECT_HAS(text, "\"reason\":\"" + std::string(befell));
    EXPECT_HAS(text, "\"exit_code\":143,\"action\":\"wait\"");
    EXPECT_HAS(after("70 rank 0 on n1: lost"), "action=restart");
  }
}

/// Each start would take a whole time limit.
TEST_F(CrashLoop, LaunchesThatReachALimitWithoutACheckpointAreACrashLoop) {
  for (int launch = 0; launch < 4; ++launch) {
    EXPECT_HAS(before(), "action=launch");
    kill_all();
    told_to_end("JobState=COMPLETING Reason=TimeLimit Restarts=0");
  }
  EXPECT_HAS(before(), "reason='crash loop: 4 launches in a row left no new checkpoint");
}

/// By the trap of its script, before that could ask what comes next.
TEST_F(CrashLoop, ALimitStaysOneWhenTheJobIsBackInTheQueue) {
  before();
  told_to_end("JobState=COMPLETING Reason=TimeLimit Restarts=0");
  write_bytes(workplace() / (run_ + "/slurm-job.txt"), "JobState=COMPLETING Reason=None\n   Requeue=1 Restarts=1\n");
  const std::string said = ask("after --terminated --restarts 0 --launcher-code 137", run_ + "/slurm-job.txt");
  EXPECT_HAS(said, "action=requeue");
  EXPECT_HAS(said, "limit of its time");
}

/// A look costs a place in the queue, and there are no more of them than nodes. One that finds what is excluded already
/// counts: Slurm may not have heard.
TEST_F(CrashLoop, SickNodesThatAreFoundOneByOneAreNoCrashLoop) {
  const auto look = [&](int sick) {
    for (int node = 1; node <= 6; ++node) {
      write_bytes(workplace() / fmt::format("{}/job/preflight/n{}.code", run_, node), node == sick ? "76\n" : "0\n");
    }
    return ask("before --nodes 6 --hosts n[1-6] --preflight " + run_ + "/job/preflight");
  };
  for (const int sick : {1, 2, 3, 4, 5, 6, 2, 1, 6, 4}) EXPECT_HAS(look(sick), "action=exclude");
  EXPECT_HAS(look(5), "reason='crash loop: 4 launches in a row left no new checkpoint");
}

}  // namespace
}  // namespace octet::test
